#!/usr/bin/env bash
# test.sh: run the tests of make test. test.sh all: run every test, hypothesis with all examples, and coverage.
# As root on Debian it installs and starts what the tests need; otherwise it runs what it can and reports prominently what
# it could not. REQUIRE_ALL=1 turns skips into failures. The script stops everything it starts.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/test_services.sh

all=
covered=()
left_out="and not boxes and not in_full"
both="both_databases"
# Only where the marks are: to read all files takes longer than many of these tests.
on_both=$(grep -rlE 'mark\.(postgres|both_databases)' tests --include='test_*.py')
if [ "${1:-}" = all ]; then
  all=1
  covered=(--cov --cov-report=)
  left_out=
  both="both_databases or both_in_full"
  on_both=tests
  export TEST_PROFILE=full
fi
export REQUIRE_ALL=${REQUIRE_ALL:-}

# Directly below /tmp and accessible to others, because PostgreSQL and the boxes run as other users.
work=$(mktemp -d /tmp/lmr-test.XXXXXX)
chmod 0755 "$work"
reports="$work/reports"
mkdir "$reports"
failed=()
lint=
trap '[ -z "$lint" ] || kill -- "-$lint" 2>/dev/null; stop_services; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

not_run() {
  say "NOT RUN: $*"
  say "$*" >>"$reports/not-run"
}

# stage TITLE COMMAND…: run the command, record its seconds and a failure, and continue. $kind=machine marks the
# preparation of a bare machine.
kind=tests
stage() {
  local title=$1 started=$SECONDS
  shift
  say
  say "== $title"
  "$@" || failed+=("$title")
  say "== $title: $((SECONDS - started)) s"
  say "$kind $((SECONDS - started)) $title" >>"$reports/stages"
}

# tests NAME ARGUMENTS…: run pytest without the caller's configuration, so that it runs the same everywhere.
# $database becomes DATABASE_URL; empty means SQLite.
database=
tests() {
  local name=$1
  shift
  # Allow bytecode files, so that the many processes of a run do not each compile the modules.
  env -u PYTHONDONTWRITEBYTECODE "${configuration[@]}" ${database:+"DATABASE_URL=$database"} \
    COVERAGE_FILE="$reports/.coverage.$name" python -m pytest --report-file "$reports/$name.json" "$@"
}

debian_packages() {
  local lacking
  lacking=$(missing redis-server postgresql chromium bubblewrap docker.io debootstrap libseccomp2 poppler-utils systemd ${all:+prometheus})
  # By itself, because not every release of Debian and Ubuntu has the package (gVisor).
  [ -z "$(missing runsc)" ] || ! may_install || install runsc || warn "runsc could not be installed"
  [ -n "$lacking" ] || return 0
  if may_install; then
    # shellcheck disable=SC2086 - a list of words
    install $lacking || not_run "some tests: these packages could not be installed: $lacking"
  else
    not_run "some tests: these packages are missing: $lacking (install with:$(how_to_install "$lacking"))"
  fi
}

# Runs beside chaos, which leaves time unused, in its own process group, so that the whole group can be stopped.
start_lint() {
  lint_started=$(date +%s)
  setsid nice scripts/lint.sh >"$work/lint.log" 2>&1 &
  lint=$!
}

# Print lint's complete output. The log's modification time is lint's end.
finish_lint() {
  wait "$lint" || failed+=("lint")
  lint=
  say
  say "== lint"
  cat "$work/lint.log"
  say "tests $(($(date -r "$work/lint.log" +%s) - lint_started)) lint, beside chaos and what follows" >>"$reports/stages"
}

kind=machine
stage "Python packages" scripts/environment.sh dev
[ ${#failed[@]} = 0 ] || exit 1
stage "Debian packages" debian_packages
PATH="$PWD/.venv/bin:$PATH"
start_docker && stage "images for the Docker box" make_images
stage "environments for the bubblewrap box" make_environments
kind=tests

configuration=()
for name in $(env -i PATH="$PATH" ENV_FILE=/dev/null DATA_DIR="$work/unused" python scripts/variable_names.py); do
  configuration+=(-u "$name" -u "${name}_FILE")
done

TEST_SANDBOX_DIR="$work/sandbox" stage "tests on SQLite" \
  tests sqlite -n 3 --dist loadgroup -m "not e2e and not postgres and not chaos and not attacks $left_out" "${covered[@]}"
start_lint
[ -z "$all" ] || stage "attacks" tests attacks -m attacks "${covered[@]}" tests
chaos="chaos and not docker and not in_full"
[ -z "$all" ] || chaos=chaos
# No other tests run: it starts its own servers, kills them, and counts leftover processes. Only "all" includes Docker.
stage "chaos" tests chaos -m "$chaos" tests/chaos tests/hosts
if start_postgres; then
  database=$POSTGRES_URL
  # shellcheck disable=SC2086 - a list of words
  stage "tests on PostgreSQL" \
    tests postgresql -n 3 --dist loadgroup -m "(postgres or $both) and not attacks $left_out" "${covered[@]}" $on_both
  database=
fi
finish_lint
# Its own instance of the site, with services of its own.
[ -z "$all" ] || stage "compose.yaml and Kubernetes' manifests" scripts/compose_test.sh
# Playwright runs an event loop in the main thread, where Django refuses ORM calls without this.
export DJANGO_ALLOW_ASYNC_UNSAFE=1
stage "browser tests" tests browser -n 2 --dist loadgroup -m "e2e $left_out" tests/e2e

stop_services
if [ -n "$all" ]; then
  # Coverage of pytest's own processes only; instances, boxes and the browser run in separate processes.
  export COVERAGE_FILE="$reports/coverage"
  coverage combine --quiet "$reports"/.coverage.* && coverage report --skip-covered --skip-empty --sort=cover
fi
python scripts/test_summary.py "$reports" "$SECONDS" "${failed[@]}"
