"""``stack list``, ``stack explain`` and ``stack schema``: what there is and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import type_of_run
from tests.cli.test_stack_check import SHIPPED, break_stack


@pytest.mark.usefixtures("clone")
def test_the_list_names_groups_with_their_architectures(run: type_of_run) -> None:
    ran = run("stack", "list")
    assert ran.code == 0
    rows = ran.out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == list(SHIPPED)
    assert "general (amd64), graviton (arm64)" in rows[0]
    assert "default (amd64), either-amd64 (amd64), either-arm64 (arm64)" in rows[1]


def test_the_list_as_json_has_rejected_stacks_too(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "legacy-al2", '"1.32"', '"1.33"')
    ran = run("stack", "list", "--output", "json")
    assert (ran.code, ran.json["kind"], ran.json["version"]) == (2, "stack-list", "2")
    states = {stack["file"]: stack["ok"] for stack in ran.json["stacks"]}
    assert states == {f"config/stacks/Pulumi.{name}.yaml": name != "legacy-al2" for name in SHIPPED}
    assert "invalid: config/stacks/Pulumi.legacy-al2.yaml:14 amiFamily: there are no Amazon" in run("stack", "list").out
    assert ran.json["stacks"][0]["nodeGroups"] == [
        {"name": "general", "architecture": "amd64"},
        {"name": "graviton", "architecture": "arm64"},
    ]


@pytest.mark.usefixtures("clone")
def test_an_explanation_gives_every_derived_value_and_its_rule(run: type_of_run) -> None:
    ran = run("stack", "explain", "gke-parity")
    assert ran.code == 0
    lines = {line.split()[0]: line for line in ran.out.splitlines() if line.strip()}
    assert ran.out.startswith("gke-parity, config/stacks/Pulumi.gke-parity.yaml\n")
    assert lines["arm64Taint"].endswith(" line 14")
    assert "Pulumi.yaml:" in lines["session"]
    assert "the default" in lines["network.serviceCidr"]
    half = ran.out.partition("multiArchitectureGroups.either: either-arm64")[2]
    assert "BOTTLEROCKET_ARM_64" in half
    assert "kubernetes.io/arch=arm64:NoSchedule" in half
    assert "a half of a multi-architecture group" in half


@pytest.mark.usefixtures("clone")
def test_an_explanation_as_json_has_the_same_values(run: type_of_run) -> None:
    ran = run("stack", "explain", "legacy-al2", "-o", "json")
    assert (ran.code, ran.json["kind"], ran.json["stack"]) == (0, "stack-explanation", "legacy-al2")
    (arm64,) = [group for group in ran.json["nodeGroups"] if group["name"] == "arm64"]
    derived = {row["key"]: row["value"] for row in arm64["derived"]}
    assert (derived["architecture"], derived["amiType"]) == ("arm64", "AL2_ARM_64")
    assert all(row["rule"] for group in ran.json["nodeGroups"] for row in group["derived"])
    reasons = {row["key"]: row["rule"] for row in ran.json["cluster"]}
    assert all(reasons.values())
    unreachable = "the API can't be reached: new VPC, private endpoint"
    assert (reasons["storageClass"], reasons["nodeTerminationHandler"]) == (unreachable, unreachable)
    assert {problem["severity"] for problem in ran.json["warnings"]} == {"warning"}


def test_a_rejected_stack_is_not_explained(clone: Path, run: type_of_run) -> None:
    break_stack(clone, "gke-parity", "nat: single", "nat: double")
    ran = run("stack", "explain", "gke-parity")
    assert (ran.code, ran.out) == (2, "")
    assert "network.nat" in ran.err


def test_the_schema_is_printed_or_written(clone: Path, run: type_of_run) -> None:
    file = clone / "config" / "stack.schema.json"
    file.unlink()
    assert run("stack", "schema", "--write").code == 0
    assert file.read_text() == run("stack", "schema").out


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize("arguments", [(), ("stack",), ("facts",)])
def test_a_command_without_arguments_shows_its_help(run: type_of_run, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert "Usage: multiarch" in ran.out + ran.err
    assert run(*arguments, "--help").code == 0


def test_the_version_is_told(run: type_of_run) -> None:
    ran = run("--version")
    assert (ran.code, ran.out) == (0, "0.1.0\n")
