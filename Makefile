# LMR-Board: `make run` starts it, `make test` tests it. Configuration: docs/configuration.md.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
MANAGE := .venv/bin/python manage.py
# The shell's own USER is the login name; only `make password USER=name` names an account of the board.
ACCOUNT = $(if $(filter command line,$(origin USER)),$(USER),maintainer)

.PHONY: help run host setup lmr-bench test test-all boxes attacks chaos hosts load compose-test bench lint audit password reset lock format openapi

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

run: ## Set up what is missing, start the whole site, stop it on Ctrl-C (PORT=8000)
	@scripts/environment.sh base
	@exec $(MANAGE) serve --setup

host: ## Work for a site that another host serves: DATABASE_URL, REDIS_URL, STORAGE_URL (docs/operating.md)
	@scripts/environment.sh base
	@exec $(MANAGE) serve --workers-only

setup: ## Make .venv, migrate, load suites and results, prepare the boxes
	@scripts/environment.sh base
	@exec $(MANAGE) setup

lmr-bench: ## LMR-BENCH's own tasks: import, environments, audit, a table (SOURCE=folder or git address, AUDIT=full)
	@[ -n "$(SOURCE)" ] || { echo "Name the data set: make lmr-bench SOURCE=FOLDER-OR-GIT-ADDRESS" >&2; exit 2; }
	@scripts/environment.sh base
	@$(MANAGE) setup --no-audit
	@exec $(MANAGE) lmr_bench $(if $(filter full,$(AUDIT)),--full) -- "$(SOURCE)"

test: ## Lint, types, unit, integration and browser tests, SQLite and PostgreSQL (REQUIRE_ALL=1: a skip fails)
	@exec scripts/test.sh

test-all: ## All of make test, boxes, attacks and chaos, hypothesis with all its examples, and coverage (it takes an hour)
	@exec scripts/test.sh all

boxes: ## Tests of boxes in the sandboxes that make test leaves out, and all with PyTorch (make test has a smoke of each)
	@scripts/environment.sh dev
	@exec .venv/bin/python -m pytest -m "boxes and not attacks" tests

attacks: ## Fire every known attack at both sandboxes, and audit every shipped task
	@scripts/environment.sh dev
	@exec .venv/bin/python -m pytest -m attacks tests

chaos: ## Kill workers and servers while runs are under way (TIMES=3: three rounds; CHAOS_SEED=…: the same faults)
	@exec scripts/chaos.sh

hosts: ## Measure one, two and four hosts in network namespaces, and break each (as root; PARTS=failures: only that)
	@exec scripts/hosts.sh $(if $(PARTS),--parts "$(PARTS)")

load: ## Use a whole site as readers, submitters, annotators and programs do, and break it (MINUTES=5 SUBMISSIONS=1000)
	@exec scripts/load.sh $(if $(MINUTES),--minutes "$(MINUTES)") $(if $(SUBMISSIONS),--submissions "$(SUBMISSIONS)")

compose-test: ## Bring compose.yaml up from nothing, have bundles scored, and kill each service (as root on Debian)
	@exec scripts/compose_test.sh

bench: ## Measure the site's speed in one table (PARTS=boards,boxes SOURCE=LMR-BENCH-FOLDER ROUNDS=5)
	@scripts/environment.sh dev
	@exec scripts/bench.sh $(if $(PARTS),--parts "$(PARTS)") $(if $(SOURCE),--source "$(SOURCE)") $(if $(ROUNDS),--rounds "$(ROUNDS)")

lint: ## Style, formatting, types, migrations, deployment checks
	@scripts/environment.sh dev
	@exec scripts/lint.sh

format: ## Let ruff and djade format the code and templates
	@scripts/environment.sh dev
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format . ; find templates -name '*.html' -exec .venv/bin/djade {} +

openapi: ## Regenerate docs/openapi.json after a change of the API
	@$(MANAGE) export_openapi_schema --api leaderboard.api.v1.api --sorted --ensure-ascii --indent 1 --output docs/openapi.json

audit: ## List known vulnerabilities of the locked packages
	@scripts/environment.sh dev
	@exec .venv/bin/python scripts/audit.py

password: ## Set a new password and print it (USER=maintainer)
	@scripts/environment.sh base
	@exec $(MANAGE) password --generate -- "$(ACCOUNT)"

reset: ## Delete all data after confirmation (FORCE=1: without)
	@scripts/environment.sh base
	@exec $(MANAGE) reset $(if $(FORCE),--force)

lock: ## Regenerate the hash-locked requirements from the .in files
	@scripts/environment.sh dev
	@exec scripts/lock.sh
