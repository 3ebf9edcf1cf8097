#!/usr/bin/env bash
# Kill workers, work-horses, PostgreSQL, Redis and Docker during runs (tests/chaos), TIMES times.
# CHAOS_SEED repeats the faults of a run that failed.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

scripts/environment.sh dev || exit 1
times=${TIMES:-1}
export TEST_PROFILE=full
for ((round = 1; round <= times; round++)); do
  say "== chaos, round $round of $times"
  .venv/bin/python -m pytest -m chaos tests/chaos tests/hosts || exit 1
done
