"""``python -m sandbox.aws --port 0``: AWS on loopback until SIGTERM or Ctrl-C."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

_OBJECTS_BETWEEN_COLLECTIONS = 100_000  # most of what a request creates is freed without


def main(arguments: list[str] | None = None) -> int:
    """Serve; prints ``listening http://127.0.0.1:PORT`` when ready. All state is in memory."""
    parser = argparse.ArgumentParser(
        prog="python -m sandbox.aws", description="moto and what the sandbox adds, on 127.0.0.1"
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--state-dir", type=Path, help="where aws.log is written; standard error without it")
    options = parser.parse_args(arguments)
    if options.state_dir:
        options.state_dir.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=options.state_dir / "aws.log" if options.state_dir else None,
        level=logging.WARNING,
        format="%(asctime)s %(name)s %(message)s",
    )
    # Instance types that EC2 does not offer are rejected; every region that moto knows is open.
    os.environ.setdefault("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true")
    # moto's 1,300 other images take a quarter of a second per region; nodes run EKS's.
    os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
    # AWS's own policies, which roles attach by ARN.
    os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
    # Nothing of what moto loads becomes garbage, and looking for some would take a third of the start.
    gc.disable()
    from sandbox import clients  # noqa: PLC0415 (takes long to load)

    clients.parse_once()  # moto reads EC2's three times when it is imported
    from sandbox.aws.server import create_server  # noqa: PLC0415 (moto reads the settings above when it is imported)

    server = create_server(options.port)
    gc.freeze()
    gc.enable()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)

    def stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    sys.stdout.write(f"listening http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
    server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
