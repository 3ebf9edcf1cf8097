#!/usr/bin/env bash
# Run all static checks of the code. Every check runs; any failure fails the script.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
PATH="$PWD/.venv/bin:$PATH"

# Caches are outside the clone, so that a fresh clone finds them filled; one folder per set of packages. mypy validates
# its cache by file contents, whichever checkout wrote it, but two processes must not write at a time.
caches="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lmr-board/$(cat requirements/dev.txt pyproject.toml | sha256sum | cut -c 1-16)"
mkdir -p "$caches"
export RUFF_CACHE_DIR="$caches/ruff" MYPY_CACHE_DIR="$caches/mypy"
types() { if has flock; then flock "$caches/mypy.lock" mypy .; else mypy .; fi; }

failed=()
check() {
  local title=$1 output
  shift
  if output=$("$@" 2>&1); then
    say "ok      $title"
  else
    say "FAILED  $title"
    say "$output"
    failed+=("$title")
  fi
}

templates() { find templates -name '*.html' -print0 | xargs -0 --no-run-if-empty djade --check; }

# Check the production example of docs/configuration.md as published, with a data folder that exists here.
deployment() {
  local folder result=0
  folder=$(mktemp -d)
  sed -n '/^```ini$/,/^```$/p' docs/configuration.md | grep -v '^```' >"$folder/production.env"
  [ -s "$folder/production.env" ] || { say "docs/configuration.md has no \`\`\`ini block"; result=1; }
  env -i PATH="$PATH" HOME="$folder" ENV_FILE="$folder/production.env" DATA_DIR="$folder/data" \
    python manage.py check --deploy --fail-level WARNING || result=1
  rm -rf "$folder"
  return "$result"
}

migrations() {
  local folder result=0
  folder=$(mktemp -d)
  env -i PATH="$PATH" HOME="$folder" ENV_FILE=/dev/null DATA_DIR="$folder" python -W ignore manage.py makemigrations --check --dry-run || result=1
  rm -rf "$folder"
  return "$result"
}

check "style (ruff check)" ruff check .
check "formatting (ruff format)" ruff format --check .
check "templates (djade)" templates
check "types (mypy)" types
check "migrations" migrations
check "deployment settings of docs/configuration.md" deployment

[ ${#failed[@]} = 0 ] || die "Failed: $(printf '%s; ' "${failed[@]}")"
