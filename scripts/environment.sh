#!/usr/bin/env bash
# environment.sh base|dev: create .venv from the hash-locked requirements, and install or report missing system packages.
# Quick if nothing changed. PYTHON names another interpreter (3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

kind=${1:?base or dev}
PYTHON=${PYTHON:-python3}

system_packages() {
  local lacking
  lacking=$(missing bubblewrap git libseccomp2)
  [ -n "$lacking" ] || return 0
  if may_install; then
    # shellcheck disable=SC2086 - a list of words
    install $lacking && return 0
    die "These packages could not be installed: $lacking. Install them by hand and start again."
  fi
  if [ "${lacking% }" = bubblewrap ] && docker info >/dev/null 2>&1; then
    return 0 # the Docker box replaces it
  fi
  warn "Missing: $lacking"
  warn "Install with"
  # shellcheck disable=SC2086
  die "$(how_to_install $lacking)
and start again."
}

make_venv() {
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "Python 3.11 or newer is needed, and '$PYTHON' is not one. Install it (Debian 12: apt-get install python3), or name one: make PYTHON=/path/to/python3"
  if ! present python3-venv; then
    may_install || die "This Python cannot create virtual environments. Install the missing package with
$(how_to_install python3-venv)
and start again."
    install python3-venv || die "python3-venv could not be installed. Install it by hand and start again."
  fi
  say "Making .venv …"
  "$PYTHON" -m venv .venv
}

# The digest of Python's version and the locked packages; a stamp stores it.
lock_digest() {
  { .venv/bin/python -V && cat requirements/uv.txt "requirements/$1.txt"; } | sha256sum | cut -d ' ' -f 1
}

stamped() { [ "$(cat ".venv/.installed-$1" 2>/dev/null)" = "$(lock_digest "$1")" ]; }

pip_install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$1"; }

uv_install() { .venv/bin/uv pip install --quiet --python .venv/bin/python --compile-bytecode --require-hashes -r "$1"; }

install_packages() {
  local started=$SECONDS
  say "Installing the Python packages (requirements/$kind.txt) …"
  rm -f .venv/.installed-*
  .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
  # pip is slower than uv, but uses mirrors and certificates from pip's own configuration.
  { pip_install requirements/uv.txt && uv_install "requirements/$kind.txt"; } || pip_install "requirements/$kind.txt" ||
    die "The Python packages could not be installed; see the lines above. Is the package index reachable?"
  lock_digest base >.venv/.installed-base
  # The development lock contains the base lock's packages in the same versions (a test compares them).
  [ "$kind" = base ] || lock_digest dev >.venv/.installed-dev
  say "Installed in $((SECONDS - started)) s."
}

system_packages
# A virtual environment whose interpreter was removed or replaced by an upgrade does not work.
[ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null || { rm -rf .venv && make_venv; }
stamped "$kind" || install_packages
