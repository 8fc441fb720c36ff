"""The page of `multiarch report` about a stack with made-up workloads, images and prices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.commands import run_multiarch
from sandbox.lifecycle import Sandbox

Say = Callable[[str], None]
_WORKLOADS = Path("examples", "pods.yaml")
_PRICES = Path("examples", "prices.json")


def show(sandbox: Sandbox, stack: str, say: Say, show: Say) -> Path:
    """Write the page of a stack, and return its file.

    The registry with the images stays until ``down``. Raises what :meth:`Sandbox.registry` raises, and OutsideError if
    the command fails.
    """
    layout = sandbox.layout
    say(f"a registry with images of {_WORKLOADS} listens on {sandbox.registry()}; `make down` stops it")
    page = layout.folder / f"report-{stack}.html"
    arguments = ["report", stack, "--html", str(page.relative_to(layout.root)), "--manifests", str(_WORKLOADS)]
    arguments += ["--prices", str(_PRICES), "--hosts-dir", str(layout.registry.relative_to(layout.root))]
    run_multiarch(arguments, layout.root, show)
    say(f"open {page.as_uri()} in a browser")
    return page
