"""Worlds to bring up, and a watch on what they leave running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.world import STACKS, World, make_world

WITH_WEBHOOK = "gke-parity"
WEBHOOK_IMAGE = f"123456789012.dkr.ecr.eu-west-3.amazonaws.com/multiarch-webhook@sha256:{'0' * 64}"


@contextlib.contextmanager
def watched(root: Path) -> Iterator[World]:
    """A world of which nothing is left running, whatever happens in it."""
    world = make_world(root)
    left: list[str] = []
    try:
        yield world
    finally:
        left = world.end()
    assert left == []


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world in which nothing runs yet."""
    with watched(tmp_path / "clone") as made:
        yield made


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """All four stacks, up in one world; what is up is always what the files say.

    One has the webhook and the CronJob that rebalances too, at first.
    """
    with watched(tmp_path_factory.mktemp("platform") / "clone") as made:
        made.edit(WITH_WEBHOOK, "admissionWebhook", value={"enabled": True, "image": WEBHOOK_IMAGE})
        made.edit(WITH_WEBHOOK, "rebalance", value={"enabled": True, "namespaces": ["shop"], "memoryMib": 1024})
        for stack in STACKS:
            made.sandbox("up", stack)
        yield made
