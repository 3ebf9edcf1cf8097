#!/usr/bin/env bash
# bench.sh [--parts …] [--source …] [--rounds …]: install what the benchmark measures beside, then run it (make bench).
# What is missing and cannot be installed has a row of the table that says so.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
PATH="$PWD/.venv/bin:$PATH"

# Where systemd runs, the package would start a server on port 80.
if [ -n "$(missing nginx-light)" ] && may_install && [ ! -d /run/systemd/system ]; then
  install nginx-light >&2 || warn "nginx-light could not be installed"
fi
if has docker && has debootstrap && docker info >/dev/null 2>&1; then
  images=(numpy)
  [[ " $* " != *" --source "* ]] || images+=(torch transformers)
  scripts/make_test_base_image.sh >&2
  for image in "${images[@]}"; do
    python scripts/box_image.py lmr-board-test-base "$image" || warn "the image of $image could not be built"
  done
fi
exec python -m tests.perf "$@"
