"""A real registry for the session, and a repository of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.images.shapes import Repository
from tests.registry import server
from tests.registry.server import Server

_NUMBERS = count()


@pytest.fixture(scope="session")
def images_registry() -> Iterator[Server]:
    """A registry that also takes an index whose members are not there."""
    with server.running(lenient=True) as running:
        yield running


@pytest.fixture
def repository(images_registry: Server) -> Repository:
    """An empty repository."""
    return Repository(images_registry, f"team/image-{next(_NUMBERS)}")
