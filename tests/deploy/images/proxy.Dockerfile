# Like nginx:1.28, as far as compose.yaml uses it.
FROM lmr-board-test-base
RUN apt-get update -q && apt-get install -qy --no-install-recommends nginx-light && rm -rf /var/lib/apt/lists/*
