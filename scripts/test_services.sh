# Start and stop servers for the tests: own ones are discarded, running ones left unchanged. Sourced by test.sh; uses
# $work and not_run.

docker_pid=
postgres_folder=

docker_answers() { [ -n "$(docker info --format '{{.ServerVersion}}' 2>/dev/null)" ]; }

# Use the running engine, else start one as root; its images are kept for the next run.
start_docker() {
  has docker || return 0 # already reported
  docker_answers && return 0
  if [ "$(id -u)" != 0 ]; then
    not_run "the Docker box: the engine does not answer, and only root can start one"
    return 1
  fi
  local runtimes=()
  # The engine does not start if its configuration names runtimes as well.
  if has runsc && ! grep -qs '"runtimes"' /etc/docker/daemon.json; then
    # A box has no network in any case, and ptrace works on every processor. The engine takes no arguments for a runtime.
    printf '#!/bin/sh\nexec runsc --network=none --platform=ptrace "$@"\n' >"$work/runsc"
    chmod 0755 "$work/runsc"
    runtimes=(--add-runtime "runsc=$work/runsc")
  fi
  say "Starting the Docker engine …"
  setsid dockerd "${runtimes[@]}" >"$work/dockerd.log" 2>&1 </dev/null &
  docker_pid=$!
  local waited
  for ((waited = 0; waited < 300; waited++)); do
    docker_answers && return 0
    kill -0 "$docker_pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 15 "$work/dockerd.log" >&2
  not_run "the Docker box: the engine could not be started (see the lines above)"
  return 1
}

make_images() {
  local build=(python scripts/box_image.py lmr-board-test-base)
  has docker || return 0
  scripts/make_test_base_image.sh && "${build[@]}" numpy || return 1
  "${build[@]}" torch >"$work/torch.log" 2>&1 && return 0
  tail -n 5 "$work/torch.log" >&2
  not_run "the tests with PyTorch in Docker: its environment could not be made (see the lines above)"
}

# Environments of bubblewrap boxes are built once per machine; each run uses hard links to them in $work/sandbox.
make_environments() {
  local kept="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lmr-board/boxes"
  mkdir -p "$kept"
  (
    ! has flock || flock 9
    python scripts/box_environments.py "$kept" >"$work/environments.log" 2>&1 || tail -n 5 "$work/environments.log" >&2
    cp -al "$kept" "$work/sandbox" 2>/dev/null || { rm -rf "$work/sandbox" && cp -a "$kept" "$work/sandbox"; }
  ) 9>"$kept.lock"
  chmod 0711 "$work/sandbox"
}

# Start a PostgreSQL cluster for this run, on a Unix socket only. Sets POSTGRES_URL.
start_postgres() {
  local programs run=()
  programs=$(postgres_programs) || {
    not_run "the tests on PostgreSQL: it is not installed"
    return 1
  }
  postgres_folder="$work/postgresql"
  mkdir "$postgres_folder"
  if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses to run as root.
    chown postgres "$postgres_folder"
    run=(setpriv --reuid postgres --regid postgres --clear-groups)
  fi
  say "Starting PostgreSQL …"
  if ! (
    cd "$postgres_folder" &&
      "${run[@]}" "$programs/initdb" --pgdata data --username tests --auth trust --encoding UTF8 --no-sync &&
      "${run[@]}" "$programs/pg_ctl" --pgdata data --wait --silent --log log start \
        --options "-c listen_addresses='' -c unix_socket_directories='$postgres_folder' -c fsync=off -c max_connections=60"
  ) >"$work/postgresql.log" 2>&1; then
    tail -n 15 "$work/postgresql.log" >&2
    not_run "the tests on PostgreSQL: it could not be started (see the lines above)"
    return 1
  fi
  POSTGRES_URL="postgres://tests@${postgres_folder//\//%2F}/tests"
}

stop_services() {
  if [ -n "$postgres_folder" ] && [ -s "$postgres_folder/data/postmaster.pid" ]; then
    # SIGINT is PostgreSQL's fast shutdown.
    stop_process "$(head -n 1 "$postgres_folder/data/postmaster.pid")" INT
  fi
  [ -z "$docker_pid" ] || stop_process "$docker_pid" TERM
  docker_pid=
}

# stop_process PID SIGNAL: send the signal, wait up to 20 seconds, then send SIGKILL.
stop_process() {
  local waited
  kill -s "$2" "$1" 2>/dev/null || return 0
  for ((waited = 0; waited < 200; waited++)); do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -s KILL "$1" 2>/dev/null
}
