"""The sandbox's AWS, moto with EKS's images and add-ons, served in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.aws.server import create_server


@contextmanager
def served() -> Iterator[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    server = create_server()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
