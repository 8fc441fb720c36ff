"""The switch that writes golden files anew: ``pytest tests/nodes/user_data --update-golden``; read the diff then."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files of user data anew")


@pytest.fixture(scope="session")
def update_golden(pytestconfig: pytest.Config) -> bool:
    # Without this folder on the command line the option comes too late to be parsed, and is off.
    return bool(pytestconfig.getoption("--update-golden", default=False))
