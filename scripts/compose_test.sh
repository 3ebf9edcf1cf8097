#!/usr/bin/env bash
# Bring compose.yaml up from nothing on the real engine, have a bundle scored through the proxy, and kill each service.
# No image is pulled: those that compose.yaml names are made from Debian's packages. Needs root on Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
. scripts/test_services.sh

not_run() { die "NOT RUN: $*"; }
may_install || not_run "the trial of compose.yaml: it needs root on Debian, to make images from Debian's packages"

# Below /tmp and accessible to others: the data folder belongs to the image's user.
work=$(mktemp -d /tmp/lmr-compose.XXXXXX)
chmod 0755 "$work"
trap 'stop_services; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# Debian 12 has only version 1 of Docker Compose. Take version 2 from the next release, as a plugin for this run.
compose_plugin() {
  docker compose version >/dev/null 2>&1 && return 0
  from_debian trixie docker-compose "$work/packages"
  mkdir -p "$work/docker/cli-plugins"
  cp "$work/packages/usr/libexec/docker/cli-plugins/docker-compose" "$work/docker/cli-plugins/"
  export DOCKER_CONFIG="$work/docker"
  docker compose version >/dev/null
}

image() {
  local name=$1
  shift
  say "Making the image $name …"
  docker build --quiet --network host --tag "$name" "$@" >"$work/build.log" 2>&1 || {
    tail -n 20 "$work/build.log" >&2
    die "The image $name could not be made."
  }
}

scripts/environment.sh dev
lacking=$(missing docker.io debootstrap)
# shellcheck disable=SC2086 - a list of words
[ -z "$lacking" ] || install $lacking || not_run "the trial of compose.yaml: $lacking could not be installed"
start_docker
compose_plugin || not_run "the trial of compose.yaml: Docker Compose 2 could not be installed"

PATH="$PWD/.venv/bin:$PATH"
scripts/make_test_base_image.sh
python scripts/box_image.py lmr-board-test-base numpy
mkdir "$work/context"
cat /etc/ssl/certs/ca-certificates.crt >"$work/context/certificates.crt"
for name in python docker-cli proxy postgres redis; do
  image "lmr-board-test-$name" --file "tests/deploy/images/$name.Dockerfile" "$work/context"
done

# Validated in an environment of its own, since the schemas of all versions take 100 MB.
say "Validating Kubernetes' manifests …"
python -m venv "$work/kubernetes"
"$work/kubernetes/bin/pip" install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
"$work/kubernetes/bin/kubernetes-validate" --strict --quiet deploy/kubernetes/{jobs,namespace,network,secret.example,web,workers}.yaml

# From a copy of the project's own files, as on a stranger's machine with a umask of 077, or of 027.
tree="$work/lmr-board"
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents --target-directory "$tree"
chmod -R go= "$tree"
chmod -R g=u "$tree"/{leaderboard,deploy}
cat >"$tree/.env" <<END
COMPOSE_PROJECT_NAME=lmr-compose-test
DATA_DIR=$work/data
IMAGE=lmr-board-test
PROXY_IMAGE=lmr-board-test-proxy
POSTGRES_IMAGE=lmr-board-test-postgres
REDIS_IMAGE=lmr-board-test-redis
BASE_IMAGE=lmr-board-test-base
PUBLISH=127.0.0.1:${PORT:-8101}
DAILY_SUBMISSIONS=100
LEASE_SECONDS=20
REQUIRE_SECOND_FACTOR=
END
image lmr-board-test --build-arg BASE_IMAGE=lmr-board-test-python --build-arg DOCKER_CLI_IMAGE=lmr-board-test-docker-cli "$tree"
"$tree/deploy/prepare.sh" >/dev/null
python -m tests.deploy.compose_trial "$tree"
