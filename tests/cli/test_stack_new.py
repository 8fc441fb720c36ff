"""``stack new`` writes a file that is valid as written."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from multiarch.stack.load import load_file
from tests.cli.running import type_of_run


def stack_file(clone: Path, stack: str) -> Path:
    return clone / "config" / "stacks" / f"Pulumi.{stack}.yaml"


def test_the_written_file_passes_the_check(clone: Path, run: type_of_run) -> None:
    ran = run("stack", "new", "--team", "search", "--env", "dev")
    assert (ran.code, ran.out) == (0, "config/stacks/Pulumi.search-dev.yaml\n")
    assert "multiarch stack check search-dev" in ran.err
    checked = run("stack", "check", "search-dev")
    assert checked.code == 0, checked.err
    rules = {line.rpartition("[")[2].rstrip("]") for line in checked.err.splitlines() if line.startswith("warning")}
    assert rules == {"ami-not-pinned"}
    assert stack_file(clone, "search-dev").stat().st_mode & 0o777 == 0o644


def test_the_example_of_autoscaling_is_valid_without_its_comment_marks(clone: Path, run: type_of_run) -> None:
    run("stack", "new", "--team", "search", "--env", "dev", "--public-cidr", "8.8.8.8/32")
    file = stack_file(clone, "search-dev")
    head, marked, example = file.read_text(encoding="utf-8").partition("  # multiarch-eks:autoscaling:\n")
    assert marked
    lines = "".join(f"{line.replace('# ', '', 1)}\n" for line in (marked + example).splitlines())
    general = "general:\n      instanceTypes: [m7i.large]\n      minSize: "
    assert f"{general}1" in head
    file.write_text(head.replace(f"{general}1", f"{general}2") + lines, encoding="utf-8")
    checked = run("stack", "check", "search-dev", "-o", "json")
    rules = {problem["rule"] for problem in checked.json["stacks"][0]["problems"]}
    assert (checked.code, rules) == (0, {"ami-not-pinned"})
    assert load_file(file).spec.autoscaling.use == "karpenter"


def test_the_written_file_has_one_group_of_each_architecture(clone: Path, run: type_of_run) -> None:
    run("stack", "new", "--team", "search", "--env", "dev")
    ran = run("stack", "list", "-o", "json")
    (found,) = [stack for stack in ran.json["stacks"] if stack.get("stack") == "search-dev"]
    assert sorted(group["architecture"] for group in found["nodeGroups"]) == ["amd64", "arm64"]
    assert stack_file(clone, "search-dev").is_file()


def test_what_is_given_is_in_the_file(clone: Path, run: type_of_run) -> None:
    options = ("--region", "us-west-2", "--owner", "ops: us = 1 é", "--cost-center", "0471")
    assert run("stack", "new", "--team", "search", "--env", "dev", *options).code == 0
    stack = load_file(stack_file(clone, "search-dev"))
    assert (stack.region, stack.spec.owner, stack.spec.cost_center) == ("us-west-2", "ops: us = 1 é", "0471")
    assert stack.spec.storage_class is False


def test_public_ranges_open_the_api(clone: Path, run: type_of_run) -> None:
    ranges = ("--public-cidr", "8.8.8.8/32", "--public-cidr", "9.9.9.0/24")
    assert run("stack", "new", "--team", "search", "--env", "dev", *ranges).code == 0
    words = load_file(stack_file(clone, "search-dev")).spec
    assert words.api_endpoint.public
    assert words.api_endpoint.public_cidrs == ["8.8.8.8/32", "9.9.9.0/24"]
    assert words.storage_class is None


def test_a_file_that_is_there_is_replaced_only_by_force(clone: Path, run: type_of_run) -> None:
    before = stack_file(clone, "checkout-dev").read_bytes()
    rejected = run("stack", "new", "--team", "checkout", "--env", "dev")
    assert rejected.code == 2
    assert "config/stacks/Pulumi.checkout-dev.yaml already exists. --force replaces it." in rejected.err
    stack_file(clone, "search-dev").symlink_to("../../../elsewhere.yaml")
    assert run("stack", "new", "--team", "search", "--env", "dev").code == 2
    assert stack_file(clone, "checkout-dev").read_bytes() == before
    assert run("stack", "new", "--team", "checkout", "--env", "dev", "--force").code == 0
    assert stack_file(clone, "checkout-dev").read_bytes() != before


@pytest.mark.parametrize(
    ("option", "value"),
    [("--team", "Search"), ("--team", "../x"), ("--team", ""), ("--env", "dev.eu"), ("--region", "europe")],
)
def test_names_that_cannot_be_are_rejected(clone: Path, run: type_of_run, option: str, value: str) -> None:
    options = {"--team": "search", "--env": "dev"} | {option: value}
    before = sorted((clone / "config" / "stacks").iterdir())
    ran = run("stack", "new", *[word for pair in options.items() for word in pair])
    assert ran.code == 2
    assert f"{option} {value}: " in ran.err
    assert sorted((clone / "config" / "stacks").iterdir()) == before


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--public-cidr", "not an ip", "'not an ip' is not an IPv4 CIDR block"),
        ("--public-cidr", "52.1.1.1/8", "Did you mean 52.0.0.0/8?"),
        ("--public-cidr", "", "Give it a value"),
        ("--owner", '"', "owner"),
        ("--owner", "a" * 300, "owner"),
        ("--owner", "a\nb", "printable"),
        ("--owner", "a\ud800b", "printable"),
        ("--cost-center", "", "Give it a value, or omit the option."),
        ("--cost-center", "{{ x }}", "a tag value takes letters"),
    ],
)
def test_what_the_check_would_reject_is_not_written(
    clone: Path, run: type_of_run, option: str, value: str, says: str
) -> None:
    before = sorted((clone / "config" / "stacks").iterdir())
    ran = run("stack", "new", "--team", "search", "--env", "dev", option, value)
    assert (ran.code, ran.out) == (2, "")
    assert all(line.startswith("error: ") for line in ran.err.splitlines())
    assert says in ran.err
    assert sorted((clone / "config" / "stacks").iterdir()) == before


def test_defaults_of_the_project_that_reject_the_file_are_named(clone: Path, run: type_of_run) -> None:
    project = clone / "Pulumi.yaml"
    project.write_text(project.read_text("utf-8").replace("value:", "value:\n        tags: {team: x}", 1), "utf-8")
    ran = run("stack", "new", "--team", "search", "--env", "dev")
    assert ran.code == 2
    assert "Pulumi.yaml:" in ran.err
    assert not stack_file(clone, "search-dev").exists()


def test_a_misspelt_region_is_rejected_with_the_nearest_before_anything_is_written(
    clone: Path, run: type_of_run
) -> None:
    before = sorted((clone / "config" / "stacks").iterdir())
    ran = run("stack", "new", "--team", "search", "--env", "dev", "--region", "us-esat-1")
    assert ran.code == 2
    assert "--region us-esat-1: Did you mean us-east-1? If AWS has just added us-esat-1" in " ".join(ran.err.split())
    assert sorted((clone / "config" / "stacks").iterdir()) == before


def test_the_examples_of_its_help_are_written_without_a_warning(clone: Path, run: type_of_run) -> None:
    shown = run("stack", "new", "--help").out
    address = '"$(curl -s https://checkip.amazonaws.com)/32"'
    examples = [line.strip() for line in shown.splitlines() if line.startswith("    multiarch stack new --team")]
    assert sum(address in line for line in examples) == 1
    for line in examples:
        ran = run(*shlex.split(line.replace(address, "8.8.8.8/32"))[1:], "--force")
        assert (ran.code, "warning" in ran.err) == (0, False), ran.err
    assert stack_file(clone, "search-prod").is_file()
