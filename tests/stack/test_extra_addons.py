"""Add-ons in ``addons.extra``: their configuration, the role of their pods, what an update of multiarch changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from multiarch.facts.addons import add_ons
from multiarch.facts.extra_addons import EXTRA
from multiarch.stack.model import AddonPlan
from tests.stack.words import AUTO_MODE, merged, plan

ARM64 = {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}


def planned(name: str, change: dict[str, Any] | None = None, **keys: object) -> AddonPlan:
    made = plan(merged({"addons": {"extra": {name: keys}}}, change or {}))
    (found,) = [each for each in made.addons if each.name == name]
    return found


def test_no_add_on_is_known_twice() -> None:
    assert not add_ons().keys() & EXTRA.keys()


def test_those_with_a_key_of_their_own_stay_what_they_are() -> None:
    before, after = plan().addons, plan({"addons": {"extra": {"metrics-server": {}}}}).addons
    assert after[: len(before)] == before
    assert [each.name for each in after[len(before) :]] == ["metrics-server"]


@pytest.mark.parametrize(
    ("name", "written", "found"),
    [
        ("metrics-server", {}, {"tolerations": [ARM64]}),
        ("metrics-server", {"replicas": 3}, {"replicas": 3, "tolerations": [ARM64]}),
        ("external-dns", {"tolerations": [{"key": "a", "operator": "Exists"}]},
         {"tolerations": [{"key": "a", "operator": "Exists"}, ARM64]}),
        ("external-dns", {"tolerations": [{"operator": "Exists"}]}, {"tolerations": [{"operator": "Exists"}]}),
        ("prometheus-node-exporter", {}, {}),  # its DaemonSet tolerates NoSchedule
        ("amazon-cloudwatch-observability", {}, {}),  # its DaemonSets tolerate everything
        ("aws-mountpoint-s3-csi-driver", {}, {}),  # AWS's schema takes no tolerations of its controller
        ("adot", {"replicaCount": 2}, {"replicaCount": 2}),  # nothing is known of it
    ],
)  # fmt: skip
def test_the_taint_is_tolerated_where_that_is_needed_and_possible(
    name: str, written: dict[str, Any], found: dict[str, Any]
) -> None:
    made = planned(name, configurationValues=written, policies=[])
    assert json.loads(made.configuration or "{}") == found


def test_a_daemon_set_that_tolerates_no_schedule_alone_is_made_to_tolerate_no_execute() -> None:
    made = planned("prometheus-node-exporter", {"arm64Taint": "arch=arm64:NoExecute"})
    tolerations = json.loads(made.configuration)["tolerations"]
    assert tolerations == [{"operator": "Exists", "effect": "NoSchedule"}, {**ARM64, "effect": "NoExecute"}]
    assert planned("metrics-server", {"arm64Taint": "none"}).configuration == ""


def test_a_role_has_aws_s_policies_for_some_and_what_is_written_for_all() -> None:
    efs = planned("aws-efs-csi-driver")
    assert (efs.namespace, efs.service_account, efs.policies, efs.policy) == (
        "kube-system",
        "efs-csi-controller-sa",
        ("service-role/AmazonEFSCSIDriverPolicy",),
        "",
    )
    own = "arn:aws:iam::111122223333:policy/efs"
    assert planned("aws-efs-csi-driver", policies=[own]).policies == (own,)
    assert planned("aws-efs-csi-driver", policies=[]).service_account is None
    assert planned("metrics-server").service_account is None
    condition = {"StringEquals": {"aws:ResourceTag/team": ["shop"]}}
    statement = {"actions": ["s3:GetObject"], "resources": ["arn:aws:s3:::models/*"], "conditions": condition}
    unknown = planned("my-driver", statements=[statement], serviceAccount="driver", namespace="drivers")
    assert (unknown.namespace, unknown.service_account, unknown.policies) == ("drivers", "driver", ())
    assert json.loads(unknown.policy)["Statement"] == [
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject"],
            "Resource": ["arn:aws:s3:::models/*"],
            "Condition": condition,
        }
    ]


def test_a_cluster_of_eks_auto_mode_has_them_alone() -> None:
    made = plan(merged(AUTO_MODE, {"addons": {"extra": {"metrics-server": {}}}}))
    assert [each.name for each in made.addons] == ["metrics-server"]
    assert "auto-mode-addon" not in {each.rule for each in made.warnings}
