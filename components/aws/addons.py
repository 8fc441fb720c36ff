"""EKS add-ons: some are installed before the nodes, which need them to become ready, the others after the nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import pulumi
from pulumi_aws import eks

from multiarch.stack.model import AddonPlan

from ..component import After, Child, Component
from ..iam import pod_identity, roles


class Addons(Child):
    """Some of the cluster's add-ons. ``by_name`` holds them by the add-on's name."""

    by_name: dict[str, eks.Addon]

    def __init__(
        self,
        name: str,
        owner: Component,
        plans: Sequence[AddonPlan],
        cluster_name: pulumi.Input[str],
        ready: After,
        *,
        protect: bool,
        pod_subnets: Sequence[tuple[pulumi.Output[str], pulumi.Output[str]]] = (),
    ) -> None:
        """Declare the add-ons, each with the role that its controller needs, after ``ready``.

        With ``pod_subnets``, zone and ID, the VPC CNI puts pods into those.
        """
        super().__init__(name, owner, protect=protect)
        self._pod_subnets = pod_subnets
        self._cluster_name, self._ready = cluster_name, ready
        self.by_name = {plan.name: self._addon(plan) for plan in plans}
        self.register_outputs({"addons": {name: addon.arn for name, addon in self.by_name.items()}})

    @property
    def resources(self) -> tuple[pulumi.Resource, ...]:
        """The add-ons, for others to depend on."""
        return tuple(self.by_name.values())

    def _addon(self, plan: AddonPlan) -> eks.Addon:
        associations, before = self._pod_identity(plan)
        return eks.Addon(
            plan.name,
            cluster_name=self._cluster_name,
            addon_name=plan.name,
            addon_version=plan.version,
            configuration_values=self._configuration(plan),
            pod_identity_associations=associations,
            # The plan decides. PRESERVE would keep manual changes, such as a removed toleration, and a preview would
            # not show them.
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="OVERWRITE",
            tags=self.tags(plan.name),
            opts=self.child(depends_on=(*self._ready, *before)),
        )

    def _configuration(self, plan: AddonPlan) -> pulumi.Input[str]:
        """Return the configuration values; AWS's provider keeps those of an add-on when the argument is omitted.

        The add-on VPC CNI makes an ENIConfig for each zone. Without security groups in it, those of the node's primary
        interface are taken. Sources: the chart aws-vpc-cni, ``templates/eniconfig.yaml``; EKS user guide, "Customize
        the secondary network interface in Amazon EKS nodes".
        """
        if plan.name != "vpc-cni" or not self._pod_subnets:
            return plan.configuration or "{}"
        known = pulumi.Output.all(self.account.region, *(each for pair in self._pod_subnets for each in pair))
        return known.apply(partial(_add_pod_subnets, plan.configuration))

    def _pod_identity(
        self, plan: AddonPlan
    ) -> tuple[list[eks.AddonPodIdentityAssociationArgs] | None, list[pulumi.Resource]]:
        """Declare its pods' role, if they need one; the list holds what must exist before the add-on."""
        if plan.service_account is None:
            return None, []
        description = f"Add-on {plan.name} of {self.naming.cluster}"
        role = pod_identity.declare_role(self, plan.name, plan.service_account, description, plan.namespace)
        if plan.extra:
            before = roles.give_policies(self, plan.name, role, plan.policies, plan.policy)
        else:
            before = [made for each in plan.policies for made in roles.attach_managed(self, plan.name, role, each)]
        association = eks.AddonPodIdentityAssociationArgs(role_arn=role.arn, service_account=plan.service_account)
        return [association], before


def _add_pod_subnets(configuration: str, known: Sequence[str]) -> str:
    """Return the VPC CNI's configuration with its ENIConfigs; ``known`` is the region, then zone and ID in turns."""
    region, *rest = known
    subnets = {zone: {"id": subnet} for zone, subnet in zip(rest[::2], rest[1::2], strict=True)}
    values = json.loads(configuration) | {"eniConfig": {"create": True, "region": region, "subnets": subnets}}
    return json.dumps(values, sort_keys=True)
