"""The command line as ``kubectl multiarch``: its name, its default source, and what kubectl completes."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.cli import completion, main
from multiarch.cli.lines import make_runnable

PLUGIN = "/usr/local/bin/kubectl-multiarch"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), "audit\tShow what is ready"),
        (("audit", ""), "daemonsets\tShow which DaemonSets"),
        (("audit", "images", "--names"), "--namespace\tOnly this namespace; may be repeated. Default: all."),
        (("stack", "check", "pay"), "payments-prod\n:4"),
        (("audit", "images", "--manifests", ""), ":0"),
    ],
)
def test_kubectl_completes_commands_options_and_stacks(
    words: tuple[str, ...], found: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-multiarch", *words])
    for name in ("_MULTIARCH_COMPLETE", "_TYPER_COMPLETE_FISH_ACTION", "_TYPER_COMPLETE_ARGS", "COLUMNS"):
        monkeypatch.setenv(name, "")  # put back after the test
    assert completion.main() == 0
    shown = capsys.readouterr().out
    assert found in shown
    assert shown.splitlines()[-1] == (":0" if found == ":0" else ":4")


def test_messages_name_the_command_as_kubectl_finds_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [PLUGIN])
    assert make_runnable("Run `multiarch stack pin shop`.") == "Run `kubectl multiarch stack pin shop`."
    assert main(["audit", "images", "-h"]) == 0
    assert "Usage: kubectl multiarch audit images" in capsys.readouterr().out


def test_a_plugin_reads_the_cluster_unless_manifests_are_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "none").write_text("")
    words = ["simulate", "checkout-dev", "--kubeconfig", str(tmp_path / "none")]
    for name in ("/usr/bin/multiarch", PLUGIN):
        monkeypatch.setattr("sys.argv", [name])
        assert main(words) == 2
        assert "none" in capsys.readouterr().err
    assert main(words[:2]) != 0
    assert "No workloads are given" not in capsys.readouterr().err
