# Like docker:28-cli, as far as the site's image uses it: the program of Debian's package.
FROM lmr-board-test-base
RUN apt-get update -q && cd /tmp && apt-get download -q docker.io && dpkg-deb -x docker.io_*.deb files \
    && mv files/usr/bin/docker /usr/local/bin/docker && rm -rf files docker.io_*.deb /var/lib/apt/lists/*
