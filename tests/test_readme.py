"""The README: short, with a picture for both colour schemes, and the first stack that it shows is what it says."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from multiarch.stack.load import load_file
from multiarch.stack.model import ClusterPlan
from multiarch.stack.plan import make_plan
from tests.quotations import DAY, README, ROOT, blocks

TODAY = datetime.fromtimestamp(int(DAY), tz=UTC).date()


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_first_thing_shown_is_a_valid_stack_of_six_lines(tmp_path: Path) -> None:
    (block,) = [block for block in blocks(README) if block.markers == ("stack: search-dev",)]
    # The first page of the site shows the same.
    assert block.text in {other.text for other in blocks(ROOT / "docs" / "index.md")}
    lines = block.text.splitlines()
    assert lines[0] == "config:"
    assert len(lines) == 7
    shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
    file = tmp_path / "Pulumi.search-dev.yaml"
    file.write_text(block.text, encoding="utf-8")
    plan = make_plan(load_file(file, project_file=tmp_path / "Pulumi.yaml"), today=TODAY)
    # What the text below it says of it.
    assert isinstance(plan.cluster, ClusterPlan)
    assert plan.cluster.version == "1.35"
    assert plan.cluster.endpoint.private
    assert not plan.cluster.endpoint.public
    assert plan.cluster.encryption.enabled
    assert len(plan.addons) == 5
    assert {str(group.family) for group in plan.node_groups} == {"AL2023"}
    found = {group.name: (str(group.architecture), *map(str, group.taints)) for group in plan.node_groups}
    assert found == {"general": ("amd64",), "graviton": ("arm64", "arch=arm64:NoSchedule")}
