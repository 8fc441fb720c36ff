"""The switch that rewrites golden files: ``pytest tests/nodes/user_data --update-golden``; read the diff then."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files of user data")


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    # Without this folder on the command line the option comes too late to be parsed, and is off.
    return bool(pytestconfig.getoption("--update-golden", default=False))
