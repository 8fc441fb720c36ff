"""``multiarch post``: a comment and an issue of the job that runs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import type_of_run
from tests.comments.stand_in import TOKEN, Fault, GitLabStandIn, Reply, StandIn, serving


@pytest.fixture
def gitlab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandIn]:
    with serving(GitLabStandIn()) as server:
        for name, value in {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": f"{server.url}/api/v4",
            "CI_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_IID": "3",
            "GITLAB_TOKEN": TOKEN,
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("CI_MERGE_REQUEST_PROJECT_ID", raising=False)
        monkeypatch.delenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", raising=False)
        monkeypatch.chdir(tmp_path)
        Path("report.md").write_text("# Report\n")
        yield server


def test_a_file_becomes_a_comment(gitlab: StandIn, run: type_of_run) -> None:
    ran = run("post", "comment", "report.md")
    assert (ran.code, ran.out, ran.err) == (0, "", "The comment was created.\n")
    assert run("post", "comment", "report.md", "--to", "gitlab").err == "The comment is up to date.\n"
    assert gitlab.bodies == ["<!-- multiarch post: report -->\n\n# Report\n"]


def test_an_issue_is_opened_and_closed(gitlab: StandIn, run: type_of_run) -> None:
    ran = run("post", "issue", "report.md", "--title", "Drift", "--name", "drift")
    assert (ran.code, ran.err) == (0, "The issue was created: https://gitlab.example.com/team/clusters/-/issues/2\n")
    assert gitlab.issues[2]["title"] == "Drift"
    closed = run("post", "issue", "--close", "--name", "drift")
    assert closed.err == "The issue was closed: https://gitlab.example.com/team/clusters/-/issues/2\n"
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


def test_a_refusal_exits_with_3_and_the_way_out(gitlab: StandIn, run: type_of_run) -> None:
    gitlab.faults.append(Fault("POST", "/notes$", Reply(403, {"message": "403 Forbidden"})))
    ran = run("post", "comment", "report.md")
    assert ran.code == 3
    assert "scope api and the role Reporter" in ran.err
    assert TOKEN not in ran.err
