"""Fixtures of all tests on real nodes."""

from tests.cluster.conftest import run

__all__ = ["run"]
