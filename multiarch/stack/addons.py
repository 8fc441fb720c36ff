"""The add-ons' plan: which, in what order, and configured so that their controllers find a node."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from multiarch.facts.addons import add_on
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import Toleration, toleration_for
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import Report
from multiarch.scheduling.tolerations import first_untolerated
from multiarch.stack.model import AddonPlan
from multiarch.stack.schema.addons import Addon, Addons

# Source: EKS user guide, "Store Kubernetes volumes with Amazon EBS".
_EBS_SERVICE_ACCOUNT = "ebs-csi-controller-sa"
_EBS_POLICY = "service-role/AmazonEBSCSIDriverPolicy"


def plan_addons(words: Addons, arm64_taint: Taint | None, report: Report) -> tuple[AddonPlan, ...]:
    """Plan the enabled add-ons, those that nodes need to become ready first."""
    if words.ebs_csi.enabled and not words.pod_identity_agent.enabled:
        report(
            "ebs-csi-without-role",
            ("addons", "podIdentityAgent", "enabled"),
            "the EBS CSI driver gets its IAM role from the Pod Identity agent, which is turned off.",
            value=False,
        )
    if not words.vpc_cni.enabled:
        report(
            "no-vpc-cni",
            ("addons", "vpcCni", "enabled"),
            "without a CNI nodes never become ready.",
            value=False,
        )
    rows: list[tuple[str, Addon, bool]] = [
        ("vpc-cni", words.vpc_cni, True),
        ("kube-proxy", words.kube_proxy, True),
        ("eks-pod-identity-agent", words.pod_identity_agent, True),
        ("coredns", words.coredns, False),
        ("aws-ebs-csi-driver", words.ebs_csi, False),
    ]
    added = [toleration_for(arm64_taint)] if arm64_taint else []
    return tuple(
        AddonPlan(
            name=name,
            version=addon.version,
            configuration=_configuration(name, words, added),
            before_nodes=before,
            service_account=_EBS_SERVICE_ACCOUNT if name == "aws-ebs-csi-driver" else None,
            managed_policy=_EBS_POLICY if name == "aws-ebs-csi-driver" else None,
        )
        for name, addon, before in rows
        if addon.enabled
    )


def check_controllers_have_a_node(
    words: Addons, arm64_taint: Taint | None, groups: Sequence[NodeGroupPlan], report: Report
) -> None:
    """A cluster whose every node repels coredns or the EBS CSI controller never becomes healthy."""
    if not groups:
        return
    for name, addon in (("coredns", words.coredns), ("aws-ebs-csi-driver", words.ebs_csi)):
        if not addon.enabled:
            continue
        own = add_on(name).default_tolerations + ((toleration_for(arm64_taint),) if arm64_taint else ())
        welcoming = [group for group in groups if not _repelling(group, own)]
        if not welcoming:
            group = groups[0]
            report(
                "controller-has-no-node",
                group.path,
                f"every node group is tainted, and {name} does not tolerate {_repelling(group, own)}; "
                "the cluster would never become healthy.",
                value=[str(t) for t in group.taints],
            )
        elif name == "coredns" and all(group.sizes.desired == 0 for group in welcoming):
            report(
                "coredns-waits",
                welcoming[0].path,
                "no group that coredns can use has a node at the start; it waits until an autoscaler adds one.",
                value=0,
            )


def _repelling(group: NodeGroupPlan, own: Iterable[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations off the group.

    A toleration for some seconds does not count: the pod has to go then.
    """
    return first_untolerated((each for each in own if each.seconds is None), group.taints)


def _configuration(name: str, words: Addons, added: Sequence[Toleration]) -> str:
    values = add_on(name).configuration(*added)
    if name == "vpc-cni" and words.vpc_cni.prefix_delegation:
        # Source: EKS user guide, "Assign more IP addresses to Amazon EKS nodes with prefixes".
        values["env"] = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}
    return json.dumps(values, sort_keys=True) if values else ""
