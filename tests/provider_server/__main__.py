"""``python -m tests.provider_server --port 8901``: the provider for a person with a browser."""

from __future__ import annotations

import argparse
import contextlib
import sys

from tests.provider_server.behaviours import MODELS
from tests.provider_server.dialects import DIALECTS
from tests.provider_server.server import ProviderServer


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.provider_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8901, help="the port on 127.0.0.1 (8901)")
    port = parser.parse_args().port
    try:
        made = ProviderServer(port)
    except OSError as error:
        sys.exit(f"Port {port} of 127.0.0.1 cannot be had ({error.strerror}); name another one with --port.")
    with made as server:
        names = "\n".join(f"  {name:15} {what}" for name, what in MODELS.items())
        spoken = "\n".join(f"  /{name + '/v1':19} {each.summary}" for name, each in DIALECTS.items())
        sys.stdout.write(f"Base address {server.url}, any key; requests are at /_log. Model ids:\n{names}\n")
        sys.stdout.write(f"Other paths speak as a known provider does:\n{spoken}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            server.thread.join()


if __name__ == "__main__":
    main()
