"""``multiarch review``: inputs, outputs, limits, exit codes, and what others wrote."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import type_of_run
from tests.comments.stand_in import StandIn
from tests.review.engine_text import digest, error, event_log, step

ROLE, QUEUE = "aws:iam/role:Role", "aws:sqs/queue:Queue"
EVIL = "a\x1b]0;t\x07\u202eb\n/approve @all #1 !2 <img src=x> ![i](https://x.y) `c` | d"
FILE = "config/stacks/Pulumi.checkout-dev.yaml"


def git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(clone: Path) -> Path:
    """The project on a branch that begins at main."""
    git(clone, "init", "-q")
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "first")
    git(clone, "checkout", "-qb", "change")
    return clone


def written(folder: Path, data: bytes, name: str = "preview.json") -> str:
    file = folder / name
    file.write_bytes(data)
    return str(file)


def deletion(name: str = "jobs", stack: str = "checkout-dev") -> bytes:
    return digest(step("delete", QUEUE, name, {"name": name})).replace(b"checkout-dev", stack.encode())


UNCHANGED = digest(step("same", ROLE, "a", {}, {}))


def edited(clone: Path, old: str, new: str) -> None:
    file = clone / FILE
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_terminal_shows_the_worst_first(run: type_of_run, tmp_path: Path) -> None:
    ran = run("review", written(tmp_path, deletion()))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "checkout-dev: HIGH risk; 1 deleted"
    assert any(line.startswith(" HIGH   breaks   SQS queue jobs") for line in lines)
    assert "  SQS queue jobs [delete-stateful]" in lines


def test_standard_input_and_several_files(run: type_of_run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = deletion() + event_log(step("same", ROLE, "a", {}, {})).replace(b"checkout-dev", b"b-dev")
    stdin = io.TextIOWrapper(io.BytesIO(both))
    monkeypatch.setattr("sys.stdin", stdin)
    found = run("review", "-", written(tmp_path, deletion(stack="a-dev")), "-o", "json").json
    assert [(each["stack"], each["source"], each["risk"]) for each in found["stacks"]] == [
        ("a-dev", str(tmp_path / "preview.json"), "high"),
        ("checkout-dev", "standard input", "high"),
        ("b-dev", "standard input", "none"),
    ]


def test_json_has_everything(run: type_of_run, tmp_path: Path) -> None:
    steps = (
        step("delete", QUEUE, "jobs", {"name": "jobs"}),
        step("update", ROLE, "r", {"a": 1}, {"a": 2}, {"a": "update"}),
    )
    tags = step("update", ROLE, "t", {"tags": {"a": "1"}}, {"tags": {"a": "2"}}, {"tags.a": "update"})
    found = run("review", written(tmp_path, digest(*steps, tags)), "-o", "json", "--fail-on", "delete-stateful")
    assert found.code == 1
    assert (found.json["risk"], found.json["failing"]) == ("high", ["delete-stateful"])
    (stack,) = found.json["stacks"]
    assert stack["operations"] == {"update": 2, "delete": 1}
    (finding,) = stack["findings"]
    assert (finding["rule"], finding["risk"], finding["topic"]) == ("delete-stateful", "high", "breaks")
    assert finding["urns"][0].endswith("::jobs")
    assert [(each["operation"], each["name"], each["changed"]) for each in stack["otherChanges"]] == [
        ("update", "r", ["a"])
    ]
    assert [(each["filter"], each["number"]) for each in stack["omitted"]] == [("tags-only", 1)]


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ((), 0),
        (("high",), 1),
        (("drift",), 0),
        (("drift", "medium"), 1),
    ],
)
def test_rules_and_levels_fail(run: type_of_run, tmp_path: Path, fail_on: tuple[str, ...], code: int) -> None:
    options = [part for each in fail_on for part in ("--fail-on", each)]
    ran = run("review", written(tmp_path, deletion()), *options)
    assert ran.code == code
    assert ("delete-stateful" in ran.err) is bool(code)


def test_a_failed_preview_always_fails(run: type_of_run, tmp_path: Path) -> None:
    ran = run("review", written(tmp_path, digest(step("same", ROLE, "a", {}, {}), diagnostics=[error("it broke")])))
    assert ran.code == 1
    assert "it broke" in ran.out
    assert "no resource changes before the preview failed" in ran.out


@pytest.mark.parametrize(
    ("word", "hint"), [("delete-statefull", "Did you mean delete-stateful?"), ("xyz", "The levels are low")]
)
def test_an_unknown_rule_is_rejected(run: type_of_run, tmp_path: Path, word: str, hint: str) -> None:
    ran = run("review", written(tmp_path, deletion()), "--fail-on", word)
    assert ran.code == 2
    assert f"'{word}' is not a rule or a risk level. {hint}" in ran.err


def test_markdown_answers_each_question_first(run: type_of_run, tmp_path: Path) -> None:
    plugin = {"severity": "warning", "message": "using pulumi-resource-aws from $PATH at /opt/pulumi-resource-aws"}
    data = digest(step("delete", QUEUE, "jobs", {"name": "jobs"}), diagnostics=[plugin])
    lines = run("review", written(tmp_path, data), "-o", "markdown").out.splitlines()
    assert lines[0] == "<!-- multiarch review: multiarch-eks -->"
    assert lines[2] == "## checkout-dev: high risk"
    assert "| **Breaks** | **HIGH** `delete-stateful`: SQS queue jobs |" in lines
    assert "| **Widens** | nothing found |" in lines
    assert "| **Omitted** | plugin-path (1) |" in lines
    assert "<details><summary>1 omitted</summary>" in lines
    assert "**HIGH: SQS queue jobs** (`delete-stateful`)<br>" in lines


def test_where_nothing_was_looked_for_the_markdown_says_so(run: type_of_run, repository: Path) -> None:
    def rows() -> list[str]:
        lines = run("review", "--since", "main", "-o", "markdown").out.splitlines()
        return [line for line in lines if line.startswith(("| **Rolls", "| **Widens", "| **Costs", "| **Other"))]

    edited(repository, "203.0.113.0/24", "203.0.113.0/25")
    unknown, nothing = "not known without a preview", "nothing found in the stack files"
    narrower = "low `narrow-permissions`: EKS cluster checkout-dev"
    assert rows() == [
        f"| **Rolls** | {nothing} |",
        f"| **Widens** | {narrower} |",
        f"| **Costs** | {nothing} |",
        f"| **Other** | {unknown} |",
    ]
    edited(repository, "maxSize: 4", "maxSize: 0")
    assert rows() == [f"| **{topic}** | {unknown} |" for topic in ("Rolls", "Widens", "Costs", "Other")]
    (repository / FILE).unlink()
    assert rows() == [f"| **{topic}** | {unknown} |" for topic in ("Rolls", "Widens", "Costs", "Other")]
    data = digest(step("same", ROLE, "a", {}, {}), diagnostics=[error("it broke")])
    failed = run("review", written(repository, data), "-o", "markdown").out
    assert "| **Widens** | nothing found before the preview failed |" in failed


def test_nothing_of_others_is_obeyed_in_markdown(run: type_of_run, tmp_path: Path) -> None:
    data = digest(
        step("delete", QUEUE, EVIL, {"name": EVIL}),
        step("update", ROLE, EVIL, {"x": EVIL}, {"x": "b"}, {"x": "update"}),
        diagnostics=[error(EVIL), {"severity": "warning", "message": f"warning: {EVIL}"}],
    )
    for output in ("markdown", "table", "json", "sarif"):
        out = run("review", written(tmp_path, data), "-o", output).out
        assert out.replace("\n", "").isprintable()
    text = run("review", written(tmp_path, data), "-o", "markdown").out
    assert not [line for line in text.splitlines() if line.startswith("/")]
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    for tag in (
        "<!-- multiarch review: multiarch-eks -->",
        "<br>",
        "<details>",
        "</details>",
        "<summary>",
        "</summary>",
    ):
        outside = outside.replace(tag, "")
    assert not re.search(r"[<>@!#]|https|\]\(", outside.replace("## ", "")), outside


def many(count: int, *more: dict[str, Any]) -> bytes:
    findings = [step("delete", QUEUE, f"queue-{number}", {"name": f"queue-{number}"}) for number in range(count)]
    others = [step("update", ROLE, f"r-{n}", {"a": "x" * 60}, {"a": "y" * 60}, {"a": "update"}) for n in range(count)]
    return digest(*findings, *others, *more)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("stacks", "limit"), [(1, 2_000), (1, 20_000), (9, 2_000), (9, 30_000)])
def test_a_long_comment_has_some_of_every_rule_and_the_rest_is_attached(
    run: type_of_run, tmp_path: Path, stacks: int, limit: int
) -> None:
    addons = [step("delete", "aws:eks/addon:Addon", f"addon-{n}", {"name": f"addon-{n}"}) for n in range(99)]
    data = b"".join(many(99, *addons).replace(b"checkout-dev", f"s{n}-dev".encode()) for n in range(stacks))
    attached = tmp_path / "all.md"
    options = ("-o", "markdown", "--limit", str(limit), "--attach", str(attached))
    ran = run("review", written(tmp_path, data), *options)
    assert len(ran.out.encode()) <= limit
    assert "| **Breaks** | **HIGH** `delete-stateful`: SQS queue queue-0, SQS queue queue-1" in ran.out
    if (stacks, limit) != (9, 2_000):
        for kind, rule in (("SQS queue queue-0", "delete-stateful"), ("EKS add-on addon-0", "delete-running")):
            assert f"**HIGH: 99 findings** (`{rule}`)\n\n- **{kind}**: It is deleted." in ran.out
    assert f"_Shortened to {limit} bytes; `all.md` has all of it._" in ran.out
    assert "queue-98" not in ran.out
    assert attached.read_text(encoding="utf-8").count("queue-98") == stacks
    assert "was shortened" in ran.err


def test_the_worst_stacks_are_open_and_the_others_folded(run: type_of_run, tmp_path: Path) -> None:
    data = b"".join(deletion(stack=f"s{number}-dev") for number in range(5))
    text = run("review", written(tmp_path, data), "-o", "markdown").out
    assert text.count("\n### ") == 3
    assert "<details><summary>s4-dev: high risk</summary>" in text
    evil = b"".join(deletion(stack=f"<img src=x>@all{number}") for number in range(5))
    assert "<summary>imgsrcxall4: high risk</summary>" in run("review", written(tmp_path, evil), "-o", "markdown").out


def test_the_stack_files_come_from_git(run: type_of_run, repository: Path, tmp_path: Path) -> None:
    edited(repository, "m7g.large", "m7g.large, m7i.large")
    found = run("review", written(tmp_path, UNCHANGED), "--since", "main", "-o", "json").json
    (stack,) = found["stacks"]
    assert stack["before"] == {"file": FILE, "problem": ""}
    assert stack["after"]["problem"].startswith("nodeGroups.graviton.instanceTypes: m7g.large is arm64")
    assert [finding["rule"] for finding in stack["findings"]] == ["invalid-stack-file"]


def test_without_previews_the_changed_stack_files_are_compared(run: type_of_run, repository: Path) -> None:
    (repository / "config/stacks/Pulumi.payments-prod.yaml").unlink()
    edited(repository, "prefer: arm64", "prefer: amd64")
    run("stack", "new", "--team", "shop", "--env", "dev")
    found = run("review", "--since", "main", "-o", "json").json
    rules = {stack["stack"]: {finding["rule"] for finding in stack["findings"]} for stack in found["stacks"]}
    assert rules["payments-prod"] == {"delete-stack-file"}
    assert "no-preview" in rules["checkout-dev"]
    assert "change-preference" in rules["checkout-dev"]
    (new,) = (stack for stack in found["stacks"] if stack["stack"] == "shop-dev")
    assert [each["text"] for each in new["findings"] if each["rule"] == "no-preview"] == [
        "The stack is new: its first update creates all of it. No preview was given: only its file is read."
    ]


def test_without_a_folder_for_temporary_files_an_error_says_so(
    run: type_of_run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container whose root is read-only."""
    monkeypatch.setattr("tempfile.tempdir", str(repository / "nowhere"))
    ran = run("review", "--since", "main")
    assert ran.code == 3
    assert "A temporary folder can't be made: No such file or directory. Set TMPDIR" in ran.err


@pytest.mark.parametrize("kind", ["/dev/zero", "pipe"])
def test_what_is_not_a_regular_file_is_an_invalid_stack_file(run: type_of_run, repository: Path, kind: str) -> None:
    file = repository / "config/stacks/Pulumi.z-dev.yaml"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(kind)
    found = run("review", "--since", "main", "-o", "json")
    (stack,) = [each for each in found.json["stacks"] if each["stack"] == "z-dev"]
    assert "invalid-stack-file" in {finding["rule"] for finding in stack["findings"]}
    assert "can't be read" in stack["after"]["problem"]
    # Git knows links, and neither pipes nor empty folders.
    assert ("z-dev" in run("stack", "affected", "--since", "main").out) is file.is_symlink()


@pytest.mark.parametrize("output", ["table", "markdown", "json", "sarif", "codequality"])
def test_a_fork_is_told_of_dangers_and_of_what_is_not_known(run: type_of_run, repository: Path, output: str) -> None:
    edited(repository, "203.0.113.0/24", "0.0.0.0/0")
    ran = run("review", "--since", "main", "-o", output, "--fail-on", "high")
    assert ran.code == 1
    said = " ".join(ran.out.split())
    for words in ("public-endpoint", "Not known without a preview", "apiEndpoint.publicCidrs[0]"):
        assert words in said


def test_another_folder_is_the_state_before(run: type_of_run, clone: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    for name in ("Pulumi.yaml", FILE):
        (old / name).parent.mkdir(parents=True, exist_ok=True)
        (old / name).write_bytes((clone / name).read_bytes())
    (old / FILE).write_text((old / FILE).read_text().replace("prefer: arm64", "prefer: amd64"))
    found = run("review", "--before", str(old), "-o", "json").json
    rules = {stack["stack"]: [finding["rule"] for finding in stack["findings"]] for stack in found["stacks"]}
    assert "change-preference" in rules["checkout-dev"]


def test_code_scanners_get_findings_in_the_stack_file(run: type_of_run, clone: Path, tmp_path: Path) -> None:
    ran = run("review", written(tmp_path, deletion()), "--before", str(clone), "-o", "sarif")
    (result,) = ran.json["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("delete-stateful", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == FILE
    balancer = written(tmp_path, digest(step("create", "aws:lb/loadBalancer:LoadBalancer", "x", None, {})))
    (result,) = run("review", balancer, "-o", "sarif").json["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("public-endpoint", "warning")
    alone = run("review", written(tmp_path, deletion()), "-o", "sarif").json["runs"][0]["results"][0]["locations"]
    assert alone[0]["physicalLocation"]["artifactLocation"]["uri"] == "Pulumi.yaml"
    assert (
        run("review", written(tmp_path, deletion()), "-o", "codequality").json[0]["location"]["path"] == "Pulumi.yaml"
    )


BAD_INPUT: tuple[tuple[tuple[str, ...], str], ...] = (
    ((), "No preview is given."),
    (("missing.json",), "missing.json can't be read: No such file or directory. `pulumi preview --json"),
    (("preview.json", "preview.json"), "Stack checkout-dev is in preview.json and in preview.json."),
    (("preview.json", "--since", "x", "--before", "."), "--since and --before are mutually exclusive."),
    (("preview.json", "--since", "nowhere"), "Git knows no commit 'nowhere'"),
    (("preview.json", "--before", "config"), "config has no Pulumi.yaml"),
    (("preview.json", "--manifests", "x.yaml"), "--manifests needs the stack files"),
    (("-", "--manifests", "-", "--since", "main"), "can't be both a preview and manifests"),
    (("preview.json", "-o", "markdown", "--limit", "10"), "--limit must be at least 2000 bytes."),
    (("preview.json", "--limit", "5000"), "--limit is for --output markdown and --post."),
    (("empty.json",), "empty.json: The file is empty."),
    (("state.json",), "state.json: This is not a preview"),
    (("Pulumi.yaml",), "Pulumi.yaml: This is not a preview"),
)


def test_bad_input_is_named_with_what_to_do(run: type_of_run, repository: Path) -> None:
    written(repository, deletion())
    written(repository, b"", "empty.json")
    written(repository, json.dumps({"version": 3, "deployment": {}}).encode(), "state.json")
    for arguments, words in BAD_INPUT:
        ran = run("review", *arguments)
        assert (ran.code, words in ran.err, ran.out) == (2, True, ""), (arguments, ran.err)


def test_the_digest_is_one_comment_that_changes_in_place(run: type_of_run, gitlab: StandIn, tmp_path: Path) -> None:
    first = run("review", written(tmp_path, deletion()), "--post", "gitlab")
    assert (first.code, first.err) == (0, "The comment was created.\n")
    second = run("review", written(tmp_path, many(50)), "--post", "gitlab", "--limit", "4000", "--fail-on", "high")
    assert second.code == 1
    assert "The comment was updated." in second.err
    (body,) = gitlab.bodies
    assert body.startswith("<!-- multiarch review: multiarch-eks -->")
    assert "_Shortened to 4000 bytes" in body


def test_findings_of_one_rule_share_what_they_have_in_common(run: type_of_run, tmp_path: Path) -> None:
    database = "aws:rds/instance:Instance"
    steps = [
        step("delete", database, name, {"identifier": name, "skipFinalSnapshot": True}, protect=name == "b")
        for name in ("a", "b")
    ]
    text = run("review", written(tmp_path, digest(*steps)), "-o", "markdown").out
    assert "**HIGH: 2 findings** (`delete-stateful`)\n\n- **database a**: It is deleted." in text
    assert text.count("skipFinalSnapshot") == text.count("_Check:_") == 1
    assert "\n  - It is protected" in text
