"""Pulumi's state as it is read from disk."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox import backend
from sandbox.layout import Layout


def test_providers_that_nobody_declared_are_not_counted_as_in_pulumis_own_summaries(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n", encoding="utf-8")
    layout = Layout(tmp_path)
    types = (
        "pulumi:pulumi:Stack::shop-dev",
        "aws:eks/nodeGroup:NodeGroup::default",
        "pulumi:providers:kubernetes::cluster",
        "pulumi:providers:aws::default_7_51_1",
        "pulumi:providers:pulumi-python::default",
    )
    resources = [{"type": each.partition("::")[0], "urn": f"urn:pulumi:dev::shop::{each}"} for each in types]
    file = layout.backend / ".pulumi" / "stacks" / "shop" / "shop-dev.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"checkpoint": {"latest": {"resources": resources}}}), encoding="utf-8")
    assert backend.checkpoint(layout, "shop-dev").resources == 3
