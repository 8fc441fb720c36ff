"""The command line, run in this process: what it returned and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from multiarch.cli import main


@dataclass(frozen=True)
class Ran:
    """One run. No run may end in a traceback."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:  # noqa: ANN401
        return json.loads(self.out)


type_of_run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str]) -> type_of_run:
    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
        return Ran(code, captured.out, captured.err)

    return run
