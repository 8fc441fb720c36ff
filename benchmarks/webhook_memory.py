"""The memory of the webhook's process with 100,000 images remembered.

Each image has a name of its own, as in Amazon ECR, and a digest of its own. The process is `multiarch
webhook serve` when it is ready, and what the images add, which is measured in a process that imports the same. Limit:
150 MB in all.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import show
from benchmarks.webhook_load import running, serve_command
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.look_ups import LookUps
from tests.webhook import serving
from tests.webhook.memories import VERDICTS, remember

IMAGES = 100_000
MEMORY_LIMIT_MB = 150


def _resident_mb(process: int | str = "self") -> float:
    """Return the resident memory of a process in MB (10**6 bytes)."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def server_mb() -> float:
    """Return the resident memory of the server when it is ready."""
    with tempfile.TemporaryDirectory() as folder:
        serving.write(Path(folder), serving.pair())
        with running(serve_command(Path(folder))) as server:
            return _resident_mb(server.process.pid)


def _name(number: int) -> str:
    return f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team-{number % 50}/service-{number}:v1.27.{number % 90}"


def measure() -> float:
    """Fill the memory as look-ups do, in this process; return what it grew by, in MB."""
    importlib.import_module("multiarch.webhook.service")
    look_ups = LookUps.from_configuration(WebhookConfiguration())
    before = _resident_mb()
    for number in range(IMAGES):
        remember(look_ups, _name(number), number, VERDICTS[number % len(VERDICTS)])
    if (kept := len(look_ups._entries)) != IMAGES:  # noqa: SLF001 (as filled)
        sys.exit(f"{kept} of {IMAGES} images were remembered")
    return _resident_mb() - before


def main() -> None:
    """Measure in a process of its own, and print the figures with their limits."""
    done = subprocess.run([sys.executable, __file__, "measure"], check=True, stdout=subprocess.PIPE, text=True)
    grown, server = float(done.stdout), server_mb()
    print(f"{IMAGES} images: {grown:.1f} MB; the server: {server:.1f} MB")
    show(f"the server with {IMAGES} images", server + grown, MEMORY_LIMIT_MB, "MB")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(measure())
    else:
        main()
