"""Slips of the pen that Pulumi itself would ignore silently, and spellings that people bring from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.errors import StackError
from multiarch.stack.load import load_file

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
        ("multiarch-eks:owner", "multiarcheks:owner", "Did you mean multiarch-eks:owner?"),
        ("aws:region", "aws:regoin", "Did you mean aws:region?"),
        ("      instanceTypes", "      architecture: arm64\n      instanceTypes", "follows from instanceTypes"),
        (
            "      instanceTypes",
            "      taints: [{key: dedicated, value: batch, effect: NoSchedule}]\n      instanceTypes",
            'Write "dedicated=batch:NoSchedule".',
        ),
        (
            "      instanceTypes",
            "      taints: [dedicated=batch: NoSchedule]\n      instanceTypes",
            'Write "dedicated=batch:NoSchedule", in quotes',
        ),
    ],
)
def test_a_slip_is_an_error_that_says_what_was_meant(tmp_path: Path, written: str, instead: str, says: str) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    file.write_text(STACK.replace(written, instead, 1), encoding="utf-8")
    with pytest.raises(StackError) as refused:
        load_file(file)
    assert any(says in str(problem) and problem.line for problem in refused.value.problems)


def test_keys_of_other_namespaces_pass(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.shop-dev.yaml"
    other = '  aws:allowedAccountIds: ["111122223333"]\n  datadog:apiUrl: https://example.com\n'
    file.write_text(STACK + other, encoding="utf-8")
    assert load_file(file).region == "eu-west-1"
