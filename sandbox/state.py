"""What runs, kept between commands in ``.sandbox/state.json``."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from multiarch.errors import OutsideError
from multiarch.files import write_atomically
from sandbox.layout import Layout
from sandbox.processes import of_folder

_VERSION = 4

GIVE_UP = (
    "`.venv/bin/python -m sandbox down --force` ends what runs and removes .sandbox; "
    "`make up` then starts from nothing."
)


@dataclass(frozen=True, slots=True)
class Engine:
    """A Pulumi engine.

    ``version`` is as ``pulumi version`` says it, with the leading v. ``source`` says where the engine comes from.
    """

    path: Path
    version: str
    source: str


@dataclass(frozen=True, slots=True)
class Server:
    """The running AWS server: its process number and address. Its state is in memory: a new process starts empty."""

    process: int
    url: str


@dataclass(frozen=True, slots=True)
class State:
    """The whole state. ``official`` are the plugins in place of stand-ins: programs by ``NAME-vVERSION``."""

    server: Server | None = None
    engine: Engine | None = None
    official: Mapping[str, str] = field(default_factory=dict)


def load(layout: Layout) -> State:
    """Read the state; without a file it is empty. A server that has ended is not in it, whoever got its number since.

    Raises:
        OutsideError: the file is not what this version writes.
    """
    try:
        content = json.loads(layout.state.read_text(encoding="utf-8"))
        return _decode(content, of_folder(layout.server))
    except FileNotFoundError:
        return State()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutsideError(f"{layout.state} can't be read ({type(error).__name__}: {error}).", hint=GIVE_UP) from error


def _decode(content: dict[str, Any], servers: Sequence[int]) -> State:
    if content["version"] != _VERSION:
        raise ValueError(f"version {content['version']}, not {_VERSION}")
    server, engine = content["server"], content["engine"]
    return State(
        server=Server(**server) if server and server["process"] in servers else None,
        engine=engine and Engine(Path(engine["path"]), engine["version"], engine["source"]),
        official=content["official"],
    )


def save(layout: Layout, state: State) -> None:
    """Write the state atomically."""
    write_atomically(layout.state, json.dumps({"version": _VERSION, **asdict(state)}, default=str, indent=2) + "\n")


@contextlib.contextmanager
def exclusive(layout: Layout, what: str) -> Iterator[None]:
    """Allow one command at a time on this sandbox.

    Raises:
        OutsideError: another one does; it is named.
    """
    layout.folder.mkdir(parents=True, exist_ok=True)
    with layout.lock.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            holder = handle.read().strip() or "another command"
            raise OutsideError(f"{holder} is at work on this sandbox.", hint="Wait for it, or stop it.") from None
        handle.truncate(0)
        handle.write(f"`{what}` (process {os.getpid()})\n")
        handle.flush()
        yield
