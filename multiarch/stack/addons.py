"""The add-ons' plan: which, in what order, and configured so that their pods find a node."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from multiarch.facts.addons import AddOn, Component, add_ons
from multiarch.facts.labels import ZONE
from multiarch.facts.taints import Taint
from multiarch.facts.tolerations import Toleration, make_toleration
from multiarch.nodes.model import NodeGroupPlan
from multiarch.nodes.report import ProblemReport
from multiarch.scheduling.tolerations import find_untolerated
from multiarch.schema.addons import Addons, ExtraAddon, VpcCniAddon
from multiarch.stack.model import AddonPlan


def plan_addons(
    spec: Addons, arm64_taint: Taint | None, report: ProblemReport, *, custom_networking: bool = False
) -> tuple[AddonPlan, ...]:
    """Plan the enabled add-ons, those that nodes need to become ready first.

    ``custom_networking``: pods have subnets of their own.
    """
    if not spec["vpc-cni"].enabled:
        report("no-vpc-cni", ("addons", "vpcCni", "enabled"), "without a CNI nodes never become ready.")
    added = [make_toleration(arm64_taint)] if arm64_taint else []
    return tuple(
        AddonPlan(
            name=row.name,
            version=spec[row.name].version,
            configuration=_configuration(row, spec, added, custom_networking=custom_networking),
            before_nodes=row.before_nodes,
            service_account=row.service_account,
            policies=row.policies_of(spec[row.name].version),
        )
        for row in add_ons().values()
        if spec[row.name].enabled
    )


def check_controllers_have_a_node(
    spec: Addons, arm64_taint: Taint | None, groups: Sequence[NodeGroupPlan], report: ProblemReport
) -> None:
    """Report add-ons whose controller no node group takes: the cluster would never become healthy."""
    if not groups:
        return
    for row in spec.list_enabled():
        for component in (each for each in row.components if not each.daemon):
            own = _list_tolerations(row, component, spec, arm64_taint)
            welcoming = [group for group in groups if not _repelling(group, own)]
            if not welcoming:
                group, where = groups[0], ".".join(("addons", row.key, "configurationValues", *component.path))
                hint = f"Add a group without that taint, or write tolerations in {where}."
                report(
                    "controller-has-no-node",
                    group.path,
                    f"every node group is tainted, and {row.name} does not tolerate {_repelling(group, own)}; "
                    "the cluster would never become healthy.",
                    hint=hint if row.name in spec.extra else "",
                )
            elif row.name == "coredns" and all(group.sizes.desired == 0 for group in welcoming):
                report(
                    "coredns-waits",
                    welcoming[0].path,
                    "no group that coredns can use has a node at the start; it waits until an autoscaler adds one.",
                )


def _list_tolerations(row: AddOn, component: Component, spec: Addons, arm64_taint: Taint | None) -> list[Toleration]:
    settings = spec[row.name]
    own = [*component.default_tolerations]
    if isinstance(settings, ExtraAddon):
        from multiarch.stack.extra_addons import find_tolerations  # noqa: PLC0415  (only stacks with some load it)

        own = [*find_tolerations(component, settings.configuration_values)]
    return [*own, make_toleration(arm64_taint)] if arm64_taint and not component.by_hand else own


def _repelling(group: NodeGroupPlan, own: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that keeps a pod with these tolerations off the group.

    A toleration for some seconds does not count: the pod has to go then.
    """
    return find_untolerated((each for each in own if each.seconds is None), group.taints)


def _configuration(row: AddOn, spec: Addons, added: Sequence[Toleration], *, custom_networking: bool) -> str:
    values = row.configuration(*added)
    cni = spec[row.name]
    if isinstance(cni, VpcCniAddon):
        # Source: EKS user guide, "Assign more IP addresses to Amazon EKS nodes with prefixes".
        prefixes = {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"} if cni.prefix_delegation else {}
        # The zone of a node is the name of its ENIConfig. Source: the same, "Deploy Pods in alternate subnets with
        # custom networking".
        custom = {"AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG": "true", "ENI_CONFIG_LABEL_DEF": ZONE}
        if env := prefixes | (custom if custom_networking else {}):
            values["env"] = env
        # The add-on takes a string. Source: EKS user guide, "Limit Pod traffic with Kubernetes network policies".
        values["enableNetworkPolicy"] = "true" if cni.network_policy else "false"
    return json.dumps(values, sort_keys=True) if values else ""
