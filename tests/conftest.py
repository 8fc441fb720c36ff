"""What all tests share: their lanes, and the settings of a run."""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import cache
from pathlib import Path
from typing import Any

import botocore.loaders
import hypothesis
import pytest

from sandbox import clients
from tests import lanes

_WATCH = lanes.Watch()
# Each command makes an AWS session of its own, which would read the descriptions of AWS's services again.
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)

# Examples are not timed: on a busy machine, any may take long.
_UNTIMED = [hypothesis.HealthCheck.too_slow]
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=_UNTIMED)
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="run the fast lane, with few examples of each property")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.fast:
        config.option.markexpr = lanes.only_fast(config.option.markexpr)
    for name, meaning in lanes.LANES.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    _WATCH.begin()
    # As with `make test`: without bytecode on disk each worker rewrites the asserts of all files, for 10 s, and each
    # process that a test starts compiles the project.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A shell that has activated .venv finds `aws` there.
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    # Pulumi's language host runs `pip list`, which would look for a newer pip: without the internet, for 5 seconds.
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    # pytest-xdist tells its workers how wide the terminal is; commands would follow it.
    os.environ.pop("COLUMNS", None)
    # Programs in Go that tests start, too, look for garbage less often.
    os.environ.setdefault("GOGC", "400")
    clients.parse_once()
    # By default Python looks for garbage some thousand times in a run, for a seventh of its time.
    gc.set_threshold(100_000)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background jobs ignore it, and so would the programs whose Ctrl-C is tested.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.option.fast and not lanes.may_be_fast(collection_path) else None


@pytest.hookimpl(tryfirst=True)  # before markers select tests
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        lanes.mark(item)
        if config.option.fast:
            lanes.limit_examples(item)
    items.sort(key=lanes.order)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: no collection of garbage needs to visit them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> lanes.Scheduler:  # noqa: ANN401 (xdist's own)
    return lanes.Scheduler(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    _WATCH.running = item


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the project's wheel is unpacked, to put on the module path of another program."""
    from tests.wheel import unpacked  # noqa: PLC0415

    return unpacked(tmp_path_factory.mktemp("wheel"))
