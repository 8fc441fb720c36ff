"""An AMI family is one row: each place that treats families differently reads it, or names what has no entry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from multiarch.autoscaling.image import get_alias, get_image_parameter
from multiarch.errors import UnknownFactError
from multiarch.facts import ami_families
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily, AmiType, Devices, FamilyFacts, get_family
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import get_instance_type
from multiarch.nodes.model import BootstrapCase, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data
from multiarch.verify.nodes.planned import PlannedGroup
from sandbox.aws import facts, images
from sandbox.cluster.bootstrap.groups import group_start
from tests.nodes.builders import CLUSTER, node_group
from tests.verify.nodes.worlds import healthy, row, with_node

INVENTED = FamilyFacts(
    "/aws/service/invented/{k}/{arch}/{variant}/recommended/{attribute}",
    devices=Devices("/dev/xvda"),
    os_image="Invented OS",
    os_example="Invented OS 1",
    image_name="invented-{k}-{arch}-{release}",
    not_on={"a1": "is too old"},
)


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> AmiType:
    """An image of a family that has its row and nothing else."""
    family = str.__new__(AmiFamily, "Invented")
    family._name_, family._value_ = "INVENTED", "Invented"  # a member that the enum does not have
    table = {**ami_families._FAMILIES, family: INVENTED}  # noqa: SLF001 (the table that a new family is added to)
    monkeypatch.setattr(ami_families, "_FAMILIES", table)
    return AmiType("INVENTED_ARM_64", family, Architecture.ARM64, variant="plain")


def planned(image: AmiType, case: BootstrapCase = BootstrapCase.SELF_MANAGED) -> NodeGroupPlan:
    return replace(node_group(case=case), ami_type=image)


def test_what_follows_from_the_row_follows_for_an_invented_family(invented: AmiType) -> None:
    assert get_family(invented.family).devices.node_storage == "/dev/xvda"
    assert get_alias(invented.family, "1.35.2-20260715") == "invented@v20260715"
    name = "/aws/service/invented/1.35/arm64/plain/invented-1.35-arm64-v20260715/image_id"
    assert get_image_parameter("invented@v20260715", invented, "1.35") == name
    assert ami_families.explain_boot_failure(invented.family, get_instance_type("a1.large")) == "a1.large is too old"
    assert facts.latest_release(invented, "1.35") == "1.35.4-20261106"
    assert images._name(invented, "1.35", "1.35.4-20261106") == "invented-1.35-arm64-v20261106"  # noqa: SLF001


def test_a_node_of_another_system_is_found_in_a_group_of_an_invented_family(invented: AmiType) -> None:
    world = replace(healthy(), group=PlannedGroup(planned(invented), invented.family))
    found = {
        system: [
            each.message for each in row(with_node(world, os_image=system)).findings if each.rule.name == "ami-family"
        ]
        for system in ("Invented OS 1.2", "Amazon Linux 2023.8")
    }
    assert found["Invented OS 1.2"] == []
    assert found["Amazon Linux 2023.8"] == ["it runs Amazon Linux 2023.8 and the group's AMI family is Invented."]


def test_what_has_no_function_for_a_family_names_it(invented: AmiType) -> None:
    with pytest.raises(UnknownFactError, match=r"AMI family with user data.*Invented"):
        render_user_data(planned(invented), CLUSTER)
    with pytest.raises(UnknownFactError, match=r"AMI family with user data.*Invented"):
        group_start(planned(invented, BootstrapCase.EKS), "", CLUSTER)
    with pytest.raises(UnknownFactError, match=r"AMI family with a reader.*Invented") as caught:
        group_start(planned(invented, BootstrapCase.CUSTOM_AMI), "", CLUSTER)
    assert "Known are AL2, AL2023, Bottlerocket." in str(caught.value)


@pytest.mark.parametrize("family", NODE_FAMILIES)
def test_each_family_of_nodes_has_a_whole_row(family: AmiFamily) -> None:
    row = get_family(family)
    assert row.os_image
    assert row.os_example.startswith(row.os_image.partition("(")[0])
    assert row.image_name
