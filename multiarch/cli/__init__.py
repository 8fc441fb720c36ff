"""The command line: the only code that prints, prompts or exits. One package per noun."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

_OBJECTS_BETWEEN_COLLECTIONS = 100_000
_INTERRUPTED, _OUTPUT_CLOSED = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. ``arguments`` are those of the process by default.

    0: no findings. 1: findings. 2: wrong usage or configuration. 3: an external service failed, or the output can't be
    written. 130: interrupted (Ctrl-C). 141: the reader of the output closed it (``| head``). A MultiarchError is
    printed to stderr without a traceback.
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED
    finally:
        if arguments is None:
            # The process ends. Without this the interpreter looks for garbage among all objects, for 0.1 s.
            gc.freeze()


def _names(words: Sequence[str]) -> list[str]:
    """Return the noun and the verb: the first two words that are neither options nor the value of --project.

    ``--version`` counts as a noun.
    """
    found = [
        word
        for at, word in enumerate(words)
        if (word == "--version" or not word.startswith("-")) and "--project" not in words[at - 1 : at]
    ]
    return found[:2]


def _defer_metadata() -> None:
    """Load ``importlib.metadata`` when it is used.

    Pydantic imports it for its plugins, which are off: for nothing that takes as long as planning a stack.
    """
    name = "importlib.metadata"
    if name in sys.modules:
        return

    def load(attribute: str) -> Any:  # noqa: ANN401  (what a module has)
        if attribute.startswith("__"):  # what the import system looks for
            raise AttributeError(attribute)
        if sys.modules.get(name) is deferred:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    deferred = ModuleType(name)
    deferred.__getattr__ = load  # type: ignore[method-assign]
    # Pydantic takes this function at its import.
    deferred.entry_points = lambda **chosen: load("entry_points")(**chosen)  # type: ignore[attr-defined]  # noqa: PLW0108
    sys.modules[name] = importlib.metadata = deferred


def _run(arguments: Sequence[str] | None) -> int:
    # Imports, and objects of a cluster, allocate much and free little: collecting garbage meanwhile takes a tenth of
    # the time of `stack check`, and longer than reading 10,000 pods.
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    # Looking for plugins of pydantic reads the metadata of every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    _defer_metadata()
    from multiarch.cli import streams  # noqa: PLC0415
    from multiarch.cli.application import build_application, list_completed_words  # noqa: PLC0415
    from multiarch.cli.terminal import print_message, show_error  # noqa: PLC0415
    from multiarch.errors import MultiarchError, OutsideError  # noqa: PLC0415

    streams.escape_unknown_characters()
    try:
        given = sys.argv[1:] if arguments is None else list(arguments)
        build_application(*_names(given or list_completed_words(os.environ)))(given, prog_name="multiarch")
    except SystemExit as done:
        # Typer exits with 1 on a closed pipe, which would mean findings.
        if isinstance(done.__context__, BrokenPipeError):
            return _OUTPUT_CLOSED
        return done.code if isinstance(done.code, int) else 2 if done.code else 0
    except MultiarchError as error:
        show_error(error)
        return error.exit_code
    except OSError as error:
        if error.errno not in streams.WRITE_ERRORS or error.filename is not None:
            raise
        if arguments is None:
            streams.discard_output()
        with suppress(OSError):
            print_message(f"error: the output can't be written: {error.strerror}.")
        return OutsideError.exit_code
    return 0
