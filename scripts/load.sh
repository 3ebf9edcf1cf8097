#!/usr/bin/env bash
# load.sh [OPTION…]: use a whole site as readers, submitters, annotators and programs do, and break it (tests/load).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

lacking=$(missing redis-server postgresql)
if [ -n "$lacking" ]; then
  # shellcheck disable=SC2086 - a list of words
  may_install && install $lacking >&2 || die "Install these packages: $lacking"
fi
scripts/environment.sh dev >&2
exec .venv/bin/python -m tests.load "$@"
