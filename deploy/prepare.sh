#!/bin/sh
# Make what compose.yaml needs and no person should choose: passwords, keys, and the group of Docker's socket.
# Repeat it at any time, and after each upgrade: of what exists, it only lets everybody read the proxy's settings.
set -eu
cd "$(dirname "$0")/.."
umask 077

random() { od -An -tx1 -N32 /dev/urandom | tr -d ' \n'; }

# Containers read these files as other users than this one; the folder keeps this machine's other users out.
mkdir -p deploy/secrets
keep() {
  [ -s "deploy/secrets/$1" ] || { cat >"deploy/secrets/$1" && echo "deploy/secrets/$1 made"; }
  chmod 0444 "deploy/secrets/$1"
}

# absent ONE OTHER: whether both files are to be made. They hold the same password, so one alone is an error.
absent() {
  if [ -s "deploy/secrets/$1" ] && [ -s "deploy/secrets/$2" ]; then return 1; fi
  for each in "$1" "$2"; do
    [ ! -s "deploy/secrets/$each" ] || {
      echo "Of deploy/secrets/$1 and $2 only $each exists. Put the other one back from your copy." >&2
      exit 1
    }
  done
}

random | keep secret_key
random | keep endpoint_keys
if absent postgres_password database_url; then
  random | keep postgres_password
  echo "postgres://lmr_board:$(cat deploy/secrets/postgres_password)@postgres/lmr_board" | keep database_url
fi
if absent redis_url redis_acl; then
  password=$(random)
  echo "redis://lmr_board:$password@redis:6379/0" | keep redis_url
  {
    # No client can sign in as "default"; Redis itself needs its rights to read back what it has written to disk.
    echo "user default off resetpass ~* &* +@all"
    echo "user lmr_board on #$(printf %s "$password" | sha256sum | cut -d ' ' -f 1) ~* &* +@all -@dangerous +info +client|list"
    echo "user health on nopass +ping"
  } | keep redis_acl
fi

# The proxy reads its settings as another user, too, whatever the umask of the checkout was.
find deploy/nginx ! -perm -o+r -exec chmod a+rX {} +

socket=${DOCKER_SOCKET:-/var/run/docker.sock}
if ! grep -qs '^DOCKER_GID=' .env; then
  [ -S "$socket" ] || { echo "$socket is no socket: start Docker, or name its socket in DOCKER_SOCKET" >&2; exit 1; }
  # The last line of a file that a person wrote may have no end.
  [ -z "$(tail -c 1 .env 2>/dev/null)" ] || echo >>.env
  echo "DOCKER_GID=$(stat -c %g "$socket")" >>.env
  echo ".env: DOCKER_GID written"
fi
