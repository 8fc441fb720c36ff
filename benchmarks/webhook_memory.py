"""The memory of the webhook's process with 100,000 images remembered, and the time to look one up in it.

Each image has a name of its own, as in Amazon ECR, and a digest of its own; every tenth is known by two names. Limits:
120 MB for the whole process, with what the server imports; 5 µs for an image of a review.
"""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.measure import show
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.images.look_ups import LookUps
from multiarch.webhook.model import PodImage
from tests.webhook.memories import VERDICTS, remember

IMAGES = 100_000
MEMORY_LIMIT_MB = 120
KNOWN_LIMIT_US = 5.0
ASKED = 200_000
SERVER = ("multiarch.cli.application", "multiarch.webhook.service", "cryptography.x509")
"""What the server imports."""


def _resident_mb() -> float:
    """The resident memory of this process in MB (10**6 bytes)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def _name(number: int) -> str:
    return f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/team-{number % 50}/service-{number}:v1.27.{number % 90}"


def measure() -> dict[str, float]:
    """Fill the memory as look-ups do, in this process."""
    for name in SERVER:
        importlib.import_module(name)
    look_ups = LookUps.from_configuration(WebhookConfiguration())
    before = _resident_mb()
    for number in range(IMAGES):
        remember(look_ups, _name(number), number - number % 10 // 9, VERDICTS[number % len(VERDICTS)])
    after = _resident_mb()
    chosen = random.Random(1)  # noqa: S311 (not for secrets)
    asked = [PodImage(_name(chosen.randrange(IMAGES))) for _ in range(ASKED)]
    began = time.perf_counter()
    for image in asked:
        look_ups.known(image)
    seconds = time.perf_counter() - began
    found = look_ups.statistics
    return {
        "before": before,
        "after": after,
        "known": seconds / ASKED * 1e6,
        "entries": found.entries,
        "estimated": found.bytes / 1e6,
        "hits": found.hits / ASKED,
    }


def main() -> None:
    """Measure in a process of its own, and print the figures with their limits."""
    done = subprocess.run([sys.executable, __file__, "measure"], check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    if found["entries"] != IMAGES or found["hits"] != 1:
        sys.exit(f"{found['entries']} of {IMAGES} images were remembered, {found['hits']:.0%} were found")
    grown = found["after"] - found["before"]
    print(f"{IMAGES} images: {grown:.1f} MB, estimated {found['estimated']:.1f} MB; before {found['before']:.1f} MB")
    show(f"the process with {IMAGES} images", found["after"], MEMORY_LIMIT_MB, "MB")
    show("an image that is known", found["known"], KNOWN_LIMIT_US, "µs")


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        print(json.dumps(measure()))
    else:
        main()
