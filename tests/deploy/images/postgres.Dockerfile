# Like postgres:16, as far as compose.yaml uses it: a first start makes the cluster, with user, database and password.
FROM lmr-board-test-base
RUN apt-get update -q && apt-get install -qy --no-install-recommends postgresql && rm -rf /var/lib/apt/lists/* \
    && install --directory --owner postgres --group postgres --mode 0700 /var/lib/postgresql/data \
    && chmod 3777 /run/postgresql && ln -s /usr/lib/postgresql/*/bin/* /usr/local/bin/ 2>/dev/null || true
ENV PGDATA=/var/lib/postgresql/data
RUN printf '%s\n' '#!/bin/sh' 'set -eu' \
    'if [ ! -s "$PGDATA/PG_VERSION" ]; then' \
    '    initdb --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth scram-sha-256 --encoding UTF8 >/dev/null' \
    '    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"' \
    '    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres >/dev/null' \
    'fi' \
    'exec "$@" -c listen_addresses="*"' >/usr/local/bin/start && chmod 0755 /usr/local/bin/start
ENTRYPOINT ["start"]
CMD ["postgres"]
