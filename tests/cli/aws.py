"""The sandbox's AWS, moto with EKS's images and add-ons, served in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.aws.server import create_server
from tests.sandbox.served import Served


@contextmanager
def served() -> Iterator[str]:
    """Serve on a free port of 127.0.0.1, empty but for what moto brings; yield the address."""
    server = create_server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        # moto's state belongs to the process: that of the server before this one would still be there.
        Served(url).empty()
        yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
