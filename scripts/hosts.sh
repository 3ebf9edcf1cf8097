#!/usr/bin/env bash
# hosts.sh [OPTION…]: measure one, two and four hosts in network namespaces, and break each (tests/hosts/measure.py).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

[ "$(id -u)" = 0 ] || die "Network namespaces need root."
lacking=$(missing redis-server postgresql iproute2 faketime)
if [ -n "$lacking" ]; then
  # shellcheck disable=SC2086 - a list of words
  is_debian && install $lacking || die "Install these packages: $lacking"
fi
scripts/environment.sh dev
exec .venv/bin/python -m tests.hosts.measure "$@"
