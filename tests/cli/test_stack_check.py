"""``stack check``: every problem of every file, and an exit code that says how bad it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from multiarch.errors import Problem
from tests.cli.running import type_of_run

SHIPPED = ("checkout-dev", "gke-parity", "legacy-al2", "payments-prod")


def break_stack(clone: Path, stack: str, old: str, new: str) -> None:
    file = clone / "config" / "stacks" / f"Pulumi.{stack}.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.usefixtures("clone")
def test_the_shipped_stacks_pass(run: type_of_run) -> None:
    ran = run("stack", "check")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [f"ok config/stacks/Pulumi.{name}.yaml" for name in SHIPPED]
    assert "error" not in ran.err.replace("0 errors", "")


def test_a_rejected_stack_shows_file_line_key_and_hint_on_stderr(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "checkout-dev", "[m7g.large]", "[m7g.large, m7i.large]")
    ran = run("stack", "check", "checkout-dev")
    assert ran.code == 2
    assert ran.out == "invalid config/stacks/Pulumi.checkout-dev.yaml\n"
    assert (
        "error: config/stacks/Pulumi.checkout-dev.yaml:38 nodeGroups.graviton.instanceTypes: m7g.large is arm64 and "
        "m7i.large is amd64; a node group has one architecture. Split it into two groups. [mixed-architectures]"
    ) in ran.err
    assert "1 stack: 1 error, " in ran.err


def test_acknowledged_warnings_are_shown_with_their_reason_and_pass(clone: Path, run: type_of_run) -> None:
    reasons = "{ami-not-pinned: until the release, documentation-cidr: an example}"
    break_stack(clone, "checkout-dev", "config:\n", f"config:\n  acknowledge: {reasons}\n")
    ran = run("stack", "check", "checkout-dev", "--strict")
    assert ran.code == 0, ran.err
    assert "note: config/stacks/Pulumi.checkout-dev.yaml:32 nodeGroups.general: " in ran.err
    assert "Acknowledged: until the release [ami-not-pinned]" in ran.err
    assert "1 stack: 0 errors, 0 warnings, 3 acknowledged in 2 lines." in ran.err
    found = run("stack", "check", "checkout-dev", "--output", "json").json
    assert (found["warnings"], found["acknowledged"]) == (0, 3)
    assert {each["acknowledged"] for each in found["stacks"][0]["problems"]} == {"until the release", "an example"}
    (log,) = run("stack", "check", "checkout-dev", "--output", "sarif").json["runs"]
    assert all(each["suppressions"][0]["justification"] for each in log["results"])
    assert run("stack", "check", "checkout-dev", "--output", "codequality").json == []
    assert "ok" in run("stack", "list").out.splitlines()[2].split()


def test_an_acknowledged_policy_is_one_that_is_found(
    clone: Path, run: type_of_run, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_stack(clone, "payments-prod", "config:\n", "config:\n  acknowledge: {policy-ami-pinned: later}\n")
    found = [Problem("policy-ami-pinned", "not pinned.")]
    with monkeypatch.context() as patch:
        patch.setattr("multiarch.runs.policies.find_violations", lambda *_: found)
        assert "Acknowledged: later [policy-ami-pinned]" in run("stack", "check", "payments-prod", "--policy").err
        # What the stack file itself shows counts as found, too.
        found.clear()
        assert "unused-acknowledgement" not in run("stack", "check", "payments-prod", "--policy").err
    file = clone / "config" / "stacks" / "Pulumi.payments-prod.yaml"
    pinned = "ami: {id: ami-0123456789abcdef0}\n      minSize: 3\n"
    file.write_text(file.read_text().replace("minSize: 3\n", pinned))
    ran = run("stack", "check", "payments-prod", "--policy")
    assert "acknowledge.policy-ami-pinned: policy-ami-pinned does not warn of anything here." in ran.err


def test_code_scanning_gets_the_line_of_each_problem(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "checkout-dev", "[m7g.large]", "[m7g.large, m7i.large]")
    ran = run("stack", "check", "checkout-dev", "--output", "sarif")
    (log,) = ran.json["runs"]
    (error,) = (each for each in log["results"] if each["level"] == "error")
    (location,) = error["locations"]
    assert (ran.code, error["ruleId"]) == (2, "mixed-architectures")
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "config/stacks/Pulumi.checkout-dev.yaml"},
        "region": {"startLine": 38},
    }


def test_every_file_is_checked_though_one_is_rejected(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "checkout-dev", "nat: single", "nat: singel")
    break_stack(clone, "payments-prod", "minSize: 3", 'minSize: "3"')
    ran = run("stack", "check")
    assert ran.code == 2
    assert [line.split()[0] for line in ran.out.splitlines()] == ["invalid", "ok", "ok", "invalid"]
    assert "Pulumi.checkout-dev.yaml:16 network.nat: " in ran.err
    assert "Pulumi.payments-prod.yaml:53 nodeGroups.base.minSize: " in ran.err


@pytest.mark.usefixtures("clone")
def test_warnings_pass_unless_strict(run: type_of_run) -> None:
    assert run("stack", "check", "legacy-al2").code == 0
    strict = run("stack", "check", "--strict", "legacy-al2")
    assert strict.code == 1
    assert "[kubernetes-extended]" in strict.err


@pytest.mark.usefixtures("clone")
def test_a_warning_that_every_group_has_is_one_line_and_a_record_for_each(run: type_of_run) -> None:
    records = run("stack", "check", "checkout-dev", "-o", "json").json["stacks"][0]["problems"]
    first, *others = (f"{row['key']} (line {row['line']})" for row in records if row["rule"] == "ami-not-pinned")
    told = run("stack", "check", "checkout-dev").err.splitlines()
    (found,) = (line for line in told if "not pinned" in line)
    # The number is that of the JSON.
    lines, count = sum(line.startswith("warning: ") for line in told), f"{len(records)} warnings"
    assert told[-1] == f"1 stack: 0 errors, {count} in {lines} lines."
    (row,) = (line for line in run("stack", "list").out.splitlines() if "checkout-dev" in line)
    assert row.endswith(f"  {count}")
    assert first.partition(" ")[0] in found
    assert others
    assert f"The same applies to {', '.join(others)}. Run `multiarch stack pin checkout-dev`." in found


@pytest.mark.usefixtures("clone")
def test_json_holds_every_field_of_a_problem(run: type_of_run) -> None:
    ran = run("stack", "check", "-o", "json", "legacy-al2")
    assert (ran.code, ran.err) == (0, "")
    assert {key: ran.json[key] for key in ("version", "kind", "errors")} == {
        "version": "2",
        "kind": "stack-check",
        "errors": 0,
    }
    (stack,) = ran.json["stacks"]
    first = stack["problems"][0]
    assert ran.json["warnings"] == len(stack["problems"])
    assert {key: first[key] for key in ("rule", "severity", "file", "line", "key", "value")} == {
        "rule": "kubernetes-extended",
        "severity": "warning",
        "file": "config/stacks/Pulumi.legacy-al2.yaml",
        "line": 13,
        "key": "kubernetesVersion",
        "value": "1.32",
    }


@pytest.mark.usefixtures("clone")
def test_a_missing_aws_cli_is_a_note_for_people_and_no_finding(
    monkeypatch: pytest.MonkeyPatch, run: type_of_run
) -> None:
    assert "note: " not in run("stack", "check", "checkout-dev").err
    monkeypatch.setenv("PATH", "/nowhere")
    ran = run("stack", "check", "checkout-dev")
    assert ran.code == 0
    (note,) = (line for line in ran.err.splitlines() if line.startswith("note: "))
    assert "`aws` is not on PATH" in note
    assert "Install the AWS CLI: https://docs.aws.amazon.com/" in note
    assert run("stack", "check", "-o", "json", "checkout-dev").err == ""


@pytest.mark.usefixtures("clone")
def test_an_unknown_stack_is_told_with_the_nearest_one(run: type_of_run) -> None:
    ran = run("stack", "check", "checkout-dew")
    assert (ran.code, ran.out) == (2, "")
    assert "There is no stack checkout-dew" in ran.err
    assert "Did you mean checkout-dev?" in ran.err


def test_outside_of_a_project_the_fix_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: type_of_run
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("stack", "check")
    assert ran.code == 2
    assert "Run this in a clone of the project." in ran.err


def test_links_that_lead_nowhere_and_pipes_are_not_overlooked(clone: Path, run: type_of_run) -> None:
    folder = clone / "config" / "stacks"
    (folder / "Pulumi.loop-dev.yaml").symlink_to("Pulumi.loop-dev.yaml")
    (folder / "Pulumi.lost-dev.yaml").symlink_to("gone.yaml")
    (folder / "Pulumi.folder-dev.yaml").mkdir()
    os.mkfifo(folder / "Pulumi.pipe-dev.yaml")
    ran = run("stack", "check")
    assert ran.code == 2
    rejected = [line for line in ran.out.splitlines() if line.startswith("invalid ")]
    assert rejected == [f"invalid config/stacks/Pulumi.{name}-dev.yaml" for name in ("folder", "loop", "lost", "pipe")]
    assert "Too many levels of symbolic links" in run("stack", "check", "loop-dev").err


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize("arguments", [("stack", "check", "--nonsense"), ("stack", "nonsense")])
def test_wrong_usage_exits_with_2(run: type_of_run, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: multiarch stack" in ran.err


def test_a_command_loads_nothing_that_it_does_not_need(clone: Path) -> None:
    # It takes at most 2.5 times an import of pydantic (benchmarks/stack_check.py).
    command = [sys.executable, "-X", "importtime", "-m", "multiarch.cli", "stack", "check", "checkout-dev"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}
    imported = {module.partition(".")[0] for module in modules}
    assert "pydantic" in imported
    assert not imported & {"asyncio", "boto3", "botocore", "components", "concurrent", "jsonschema", "pulumi", "rich"}
    unused = {"email", "multiarch.cli.audit", "multiarch.nodes.user_data.kubelet_start", "multiarch.schema.webhook"}
    assert not modules & {"multiarch.kubernetes", *unused}


def test_metadata_of_packages_is_loaded_when_it_is_used() -> None:
    code = (
        "from multiarch.cli import main\nimport sys\nmain(['--version'])\nassert 'email' not in sys.modules\n"
        "import importlib.metadata\nfrom importlib.metadata import version\n"
        "assert importlib.metadata.version('typer') == version('typer')\nassert 'email' in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
