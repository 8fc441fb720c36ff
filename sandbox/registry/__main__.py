"""``python -m sandbox.registry … --state-dir DIR``: a read-only registry on loopback until SIGTERM or Ctrl-C."""

from __future__ import annotations

import sys
from pathlib import Path

from sandbox.registry import server
from sandbox.registry.images import repositories


def main() -> int:
    """Serve; writes DIR/HOST/hosts.toml, and prints ``listening http://127.0.0.1:PORT`` when ready."""
    listening = server.make(repositories())
    url = server.url_of(listening)
    server.write_hosts(Path(sys.argv[-1]), url)
    sys.stdout.write(f"listening {url}\n")
    sys.stdout.flush()
    listening.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
