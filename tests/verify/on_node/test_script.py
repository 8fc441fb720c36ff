"""The script, run by the shells of this machine."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from multiarch.verify.on_node import script as script_module
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import build_node_script
from tests.verify.secrets import KEPT, SECRETS

_SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
_FILES = Path(script_module.__file__).parent / "shell"


@pytest.mark.parametrize("containers", [False, True])
@pytest.mark.parametrize("shell", _SHELLS)
def test_every_shell_runs_it(shell: str, *, containers: bool) -> None:
    script = build_node_script(containers=containers)
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stderr == ""
    assert parse_report(done.stdout).machine == platform.machine()


@pytest.mark.parametrize("containers", [False, True])
def test_run_command_takes_it(*, containers: bool) -> None:
    script = build_node_script(containers=containers)

    # SSM replaces {{ parameters }}; the agent writes the script to a file as it is.
    assert "{{" not in script
    assert script.isascii()
    assert len(script) < 16_000
    assert "\n#" not in script


def test_only_digits_of_ids_are_taken() -> None:
    assert build_node_script(containers=True, ids="07").startswith("ids=07\n")
    for ids in ("", "g", "0;rm", "$x"):
        with pytest.raises(ValueError, match="ids must be digits"):
            build_node_script(containers=True, ids=ids)


@pytest.mark.parametrize("secret", SECRETS)
def test_log_lines_hold_no_secrets(secret: str) -> None:
    masked = _masked(secret)

    assert "c2VjcmV0" not in masked
    assert "[masked]" in masked


@pytest.mark.parametrize("line", KEPT)
def test_log_lines_keep_the_reason(line: str) -> None:
    assert _masked(line) == line


def _masked(text: str) -> str:
    code = "".join((_FILES / f"{name}.sh").read_text() for name in ("common", "node")) + "\nmasked\n"
    return subprocess.run(["sh", "-c", code], input=text, capture_output=True, text=True, check=True).stdout.strip("\n")
