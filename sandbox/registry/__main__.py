"""``python -m sandbox.registry --port 0``: a read-only registry on loopback until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sandbox.registry import server
from sandbox.registry.images import repositories


def main() -> int:
    """Serve; writes DIR/HOST/hosts.toml, and prints ``listening http://127.0.0.1:PORT`` when ready."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.registry", description="made-up images on 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--state-dir", type=Path, required=True, help="where hosts.toml goes, in a folder per registry")
    options = parser.parse_args()
    listening = server.make(repositories(), port=options.port)
    url = server.url_of(listening)
    server.write_hosts(options.state_dir, url)
    sys.stdout.write(f"listening {url}\n")
    sys.stdout.flush()
    listening.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
