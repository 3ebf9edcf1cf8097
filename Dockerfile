# The image of every role of LMR-Board: the command decides which (docs/operating.md, "Install with Docker Compose").
ARG BASE_IMAGE=python:3.11-slim-bookworm
ARG DOCKER_CLI_IMAGE=docker:28-cli

FROM ${DOCKER_CLI_IMAGE} AS docker-cli

FROM ${BASE_IMAGE} AS packages
COPY requirements/base.txt requirements/uv.txt /requirements/
# Wheels only: nothing is compiled, so the image needs no compiler, and a machine without a wheel says so at once.
RUN python3 -m venv /opt/lmr-board/.venv \
    && /opt/lmr-board/.venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --require-hashes -r /requirements/uv.txt -r /requirements/base.txt

FROM ${BASE_IMAGE}
ARG UID=10001
ARG GID=10001
# bubblewrap and libseccomp2 make boxes, git imports suites, tini is the init process.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends \
        bubblewrap ca-certificates git libseccomp2 tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid "$GID" lmr-board \
    && useradd --uid "$UID" --gid "$GID" --home-dir /srv/lmr-board --no-create-home --shell /usr/sbin/nologin lmr-board \
    # bubblewrap's boxes copy the base's own Python, wherever it is, not the virtual environment's.
    && ln -s "$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')" /usr/local/bin/box-python \
    # Volumes get the owner of the folder that they cover.
    && install --directory --owner "$UID" --group "$GID" --mode 0700 /srv/lmr-board /srv/backups
# Only the worker with the engine's socket uses it, to build images of boxes.
COPY --from=docker-cli /usr/local/bin/docker /usr/local/bin/docker
COPY --from=packages /opt/lmr-board/.venv /opt/lmr-board/.venv
COPY . /opt/lmr-board
# Closed to other users: an engine outside the container cannot mount files of this image into a box, so the worker must
# copy them into the data folder first, as it does with all files that not every user can read. Its own user can read
# them, whatever the umask of the checkout was.
RUN find /opt/lmr-board -path /opt/lmr-board/.venv -prune -o ! -perm -o+r -exec chmod a+rX {} + \
    && /opt/lmr-board/.venv/bin/python -m compileall -q -x '/\.venv/' /opt/lmr-board \
    && chown root:lmr-board /opt/lmr-board && chmod 0750 /opt/lmr-board

ENV PATH=/opt/lmr-board/.venv/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    DATA_DIR=/srv/lmr-board \
    SANDBOX_PYTHON=/usr/local/bin/box-python
WORKDIR /opt/lmr-board
USER ${UID}:${GID}
ENTRYPOINT ["tini", "--"]
CMD ["gunicorn", "--config", "gunicorn.conf.py", "leaderboard.wsgi"]
