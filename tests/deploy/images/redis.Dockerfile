# Like redis:7, as far as compose.yaml uses it.
FROM lmr-board-test-base
RUN apt-get update -q && apt-get install -qy --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner redis --group redis /data
