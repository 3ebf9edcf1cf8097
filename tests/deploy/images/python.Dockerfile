# Like python:3.11-slim-bookworm, from Debian's packages and with this machine's certificates and pip's configuration.
FROM lmr-board-test-base
COPY certificates.crt /etc/ssl/this-machine.crt
RUN apt-get update -q && apt-get install -qy --no-install-recommends python3-venv && rm -rf /var/lib/apt/lists/*
ENV PIP_CERT=/etc/ssl/this-machine.crt
