"""``multiarch post``: a comment and an issue of the job that runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import type_of_run
from tests.comments.stand_in import StandIn


@pytest.fixture(autouse=True)
def report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("report.md").write_text("# Report\n")
    monkeypatch.setenv("GITLAB_CI", "true")


def test_a_file_becomes_a_comment(gitlab: StandIn, run: type_of_run) -> None:
    assert run("post", "comment", "report.md", "--only-update").err == "There is no comment to update.\n"
    ran = run("post", "comment", "report.md")
    assert (ran.code, ran.out, ran.err) == (0, "", "The comment was created.\n")
    assert run("post", "comment", "report.md", "--to", "gitlab").err == "The comment was updated.\n"
    assert gitlab.bodies == ["<!-- multiarch post: report -->\n\n# Report\n"]


def test_an_issue_is_opened_and_closed(gitlab: StandIn, run: type_of_run) -> None:
    ran = run("post", "issue", "report.md", "--title", "Drift", "--name", "drift")
    assert (ran.code, ran.err) == (0, "The issue was created: https://git.example.com/team/clusters/-/issues/2\n")
    assert gitlab.issues[2]["title"] == "Drift"
    closed = run("post", "issue", "--close", "--name", "drift")
    assert closed.err == "The issue was closed: https://git.example.com/team/clusters/-/issues/2\n"
    assert run("post", "issue", "--close", "--name", "drift").err == "There is no open issue.\n"


@pytest.mark.usefixtures("gitlab")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("comment", "missing.md"), "missing.md can't be read: No such file or directory"),
        (("comment", "empty.md"), "empty.md is empty. Did the command that writes it fail?"),
        (("comment", "report.md", "--name", "a b"), "'a b' can't name a comment"),
        (("comment", "report.md", "--to", "bitbucket"), "'bitbucket' is not one of"),
        (("issue", "report.md"), "FILE and --title are needed"),
        (("issue", "--title", "Drift"), "FILE and --title are needed"),
    ],
)
def test_what_is_missing_is_named(run: type_of_run, arguments: tuple[str, ...], message: str) -> None:
    Path("empty.md").write_text("\n")
    ran = run("post", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_outside_of_ci_it_says_what_to_name(gitlab: StandIn, run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITLAB_CI")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert "this is not a CI job" in run("post", "comment", "report.md").err
    assert gitlab.requests == []
