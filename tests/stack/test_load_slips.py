"""Slips of the pen that Pulumi itself would ignore silently, and spellings that people bring from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.errors import StackError
from multiarch.schema.stack import StackSpec
from multiarch.stack.load import load_file
from multiarch.stack.schema_paths import find_nearest, list_fields

STACK = """\
config:
  aws:region: eu-west-1
  multiarch-eks:team: shop
  multiarch-eks:environment: dev
  multiarch-eks:owner: shop@example.com
  multiarch-eks:costCenter: "1"
  multiarch-eks:nodeGroups:
    web:
      instanceTypes: [m7i.large]
"""


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        ("multiarch-eks:owner", "multiarch_eks:owner", "Did you mean multiarch-eks:owner?"),
        ("aws:region", "aws:regoin", "Did you mean aws:region?"),
        ("      instanceTypes", "      architecture: arm64\n      instanceTypes", "follows from instanceTypes"),
        (
            "      instanceTypes",
            "      taints: [dedicated=batch: NoSchedule]\n      instanceTypes",
            'a taint is KEY=VALUE:EFFECT, as in "dedicated=batch:NoSchedule".',
        ),
        (
            "multiarch-eks:owner",
            "multiarch-eks:arm64Taint: {key: arch, value: arm64, effect: NoSchedule}\n  multiarch-eks:owner",
            "a taint is KEY=VALUE:EFFECT",
        ),
        ("aws:region", "region", "Write aws:region:"),
        ("aws:region: eu-west-1", "aws:\n    region: eu-west-1", "Write aws:region:"),
        ("multiarch-eks:owner", "multiarch:version", "Did you mean multiarch-eks:kubernetesVersion?"),
        ("shop@example.com", "{{ owner }}", "{{ owner }} is a placeholder of a template"),
        ("config:", "confg:", "Did you mean config?"),
    ],
)
def test_a_slip_is_an_error_that_says_what_was_meant(tmp_path: Path, written: str, instead: str, says: str) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    file.write_text(STACK.replace(written, instead, 1), encoding="utf-8")
    with pytest.raises(StackError) as rejected:
        load_file(file)
    assert any(says in str(problem) and problem.line for problem in rejected.value.problems)


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("config:", "confg:"),
        ("shop@example.com", "{{ owner }}"),
        ("eu-west-1", "{{ region }}"),
    ],
)
def test_a_slip_is_one_problem_without_its_consequences(tmp_path: Path, written: str, instead: str) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    text = STACK.replace(written, instead, 1)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(StackError) as rejected:
        load_file(file)
    assert len(rejected.value.problems) == 1, rejected.value


def test_keys_above_config_are_named_without_those_that_seem_to_be_missing(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    file.write_text(STACK.replace("config:\n", "").replace("  ", "", 6), encoding="utf-8")
    with pytest.raises(StackError) as rejected:
        load_file(file)
    assert {problem.rule for problem in rejected.value.problems} <= {"unknown-key", "not-yaml"}


@pytest.mark.parametrize(
    ("written", "meant"), [("version", "kubernetesVersion"), ("groups", "nodeGroups"), ("seson", "session")]
)
def test_the_word_that_is_meant_is_found_by_its_parts(written: str, meant: str | None) -> None:
    assert find_nearest(written, list(list_fields(StackSpec))) == meant


def test_keys_of_other_namespaces_pass(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    other = '  aws:allowedAccountIds: ["111122223333"]\n  datadog:apiUrl: https://example.com\n'
    file.write_text(STACK + other, encoding="utf-8")
    assert load_file(file).region == "eu-west-1"
