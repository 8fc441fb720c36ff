"""Pulumi's state as it is read from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import OutsideError
from sandbox import backend
from sandbox.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n", encoding="utf-8")
    return Layout(tmp_path)


def save(layout: Layout, **latest: Any) -> Path:
    file = layout.backend / ".pulumi" / "stacks" / "shop" / "shop-dev.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"checkpoint": {"latest": latest}}), encoding="utf-8")
    return file


def test_providers_that_nobody_declared_are_not_counted_as_in_pulumis_own_summaries(layout: Layout) -> None:
    types = (
        "pulumi:pulumi:Stack::shop-dev",
        "aws:eks/nodeGroup:NodeGroup::default",
        "pulumi:providers:kubernetes::cluster",
        "pulumi:providers:aws::default_7_51_1",
        "pulumi:providers:pulumi-python::default",
    )
    resources = [{"type": each.partition("::")[0], "urn": f"urn:pulumi:dev::shop::{each}"} for each in types]
    save(layout, resources=resources)
    assert backend.checkpoint(layout, "shop-dev").resources == 3


def test_a_state_that_does_not_tell_what_aws_has_is_an_error_that_says_how_to_start_anew(layout: Layout) -> None:
    pending = {"type": "creating", "resource": {"urn": "urn:pulumi:dev::shop::aws:ec2/vpc:Vpc::net"}}
    file = save(layout, pending_operations=[pending])
    with pytest.raises(OutsideError, match=r"shop-dev was killed while creating net: .* down --force"):
        backend.require_whole(layout)
    file.write_text("{", encoding="utf-8")  # as a full disk leaves it
    with pytest.raises(OutsideError, match=r"can't be read \(JSONDecodeError.* down --force"):
        backend.require_whole(layout)
