"""A node group: an EKS managed node group, or a self-managed Auto Scaling Group, with its launch template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_aws import autoscaling, ec2, eks

from multiarch.errors import OutsideError
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import UNTAINTED, keeps_pods_away
from multiarch.nodes.model import (
    CLUSTER_TAG,
    GROUP_TAG,
    BootstrapCase,
    CapacityType,
    ClusterFacts,
    NodeGroupKind,
    NodeGroupPlan,
    Tags,
)

from ..component import After, Component, Naming, require_healthy
from ..iam.node_role import NodeRole
from ..outputs import NodeGroupOutput
from . import launch_template

__all__ = ["NodeGroup", "NodeGroupArgs", "required"]


@dataclass(frozen=True, slots=True)
class NodeGroupArgs:
    """``ready`` must exist before the first node and until the last one is gone.

    ``autoscaler_tags`` are for the Auto Scaling Group only: by them the cluster autoscaler finds the group, and knows
    its nodes while there are none. ``security_group_ids`` are those of the nodes, in place of the cluster's own.
    """

    plan: NodeGroupPlan
    cluster_name: pulumi.Input[str]
    kubernetes_version: str
    naming: Naming
    facts: pulumi.Output[ClusterFacts]
    security_group_id: pulumi.Input[str]
    role: NodeRole
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    ready: After
    autoscaler_tags: Tags = ()
    security_group_ids: Sequence[str] = ()


class NodeGroup(Component):
    """A node group of one architecture. ``group`` is the EKS node group or Auto Scaling Group itself.

    ``auto_scaling_group`` is the Auto Scaling Group's name; for a managed group EKS creates it, and it is None until
    then. ``resources`` are the group and separate tags for the autoscaler, for others to depend on.
    """

    plan: NodeGroupPlan
    group: eks.NodeGroup | autoscaling.Group
    auto_scaling_group: pulumi.Output[str | None]
    resources: tuple[pulumi.Input[pulumi.Resource], ...]

    def __init__(self, name: str, args: NodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Declare launch template and group."""
        super().__init__(name, args.naming, opts)
        self.plan = plan = args.plan
        own, profile = plan.kind is NodeGroupKind.SELF_MANAGED, args.role.instance_profile
        found_by = {CLUSTER_TAG: self.naming.cluster, GROUP_TAG: plan.name}
        if plan.architecture is Architecture.ARM64 and not keeps_pods_away(plan.taints):
            found_by |= dict([UNTAINTED])
        # EKS puts this tag on the instances of managed groups.
        owned = {f"kubernetes.io/cluster/{self.naming.cluster}": "owned"} if own else {}
        template = launch_template.declare(
            plan,
            facts=args.facts,
            tags=self.tags(plan.name, found_by),
            launched_tags=self.tags(plan.name, {**found_by, **owned}),
            instance_profile_arn=profile.arn if own and profile else None,
            security_group_ids=args.security_group_ids or ([args.security_group_id] if own or plan.efa else ()),
            opts=self.child(),
        )
        if own:
            scaling_group = self._self_managed(args, template, {**found_by, **owned})
            self.group = scaling_group
            self.auto_scaling_group = scaling_group.name.apply(lambda made: made)
            self.resources = (scaling_group,)
        else:
            managed = self._managed(args, template, found_by)
            self.group = managed
            names = pulumi.Output.all(args.cluster_name, managed.node_group_name, managed.status)
            sound = require_healthy(managed, names, find_problem)
            found = managed.resources.apply(_first_auto_scaling_group)
            self.auto_scaling_group = pulumi.Output.all(found, sound).apply(lambda known: known[0])
            self.resources = (sound, *self._autoscaler_tags(args))
        self.register_outputs({"autoScalingGroup": self.auto_scaling_group, "launchTemplateId": template.id})

    @property
    def eks_name(self) -> pulumi.Output[str]:
        """The name of a managed group at EKS, which its nodes carry as label ``eks.amazonaws.com/nodegroup``.

        Raises TypeError for a self-managed group, which EKS does not know.
        """
        if not isinstance(self.group, eks.NodeGroup):
            raise TypeError(f"{self.plan.name} is not a managed node group")
        return self.group.node_group_name

    @property
    def output(self) -> NodeGroupOutput:
        """What a stack tells about the group."""
        plan = self.plan
        return {
            "architecture": str(plan.architecture),
            "kind": str(plan.kind),
            "capacityType": str(plan.capacity_type),
            "amiType": "CUSTOM" if plan.case is BootstrapCase.CUSTOM_AMI else plan.ami_type.name,
            "instanceTypes": [instance.name for instance in plan.instance_types],
            "taints": [str(taint) for taint in plan.taints],
            "autoScalingGroup": self.auto_scaling_group,
        }

    def _managed(self, args: NodeGroupArgs, template: ec2.LaunchTemplate, found_by: dict[str, str]) -> eks.NodeGroup:
        plan = args.plan
        # With an AMI in the launch template the API rejects these three.
        eks_image = plan.case is BootstrapCase.EKS
        return eks.NodeGroup(
            plan.name,
            cluster_name=args.cluster_name,
            node_group_name_prefix=plan.name_prefix,
            node_role_arn=args.role.role_arn,
            subnet_ids=args.subnet_ids,
            ami_type=plan.ami_type.name if eks_image else None,
            release_version=plan.ami.release if eks_image else None,
            version=args.kubernetes_version if eks_image else None,
            capacity_type=plan.capacity_type.eks,
            instance_types=[instance.name for instance in plan.instance_types],
            launch_template=eks.NodeGroupLaunchTemplateArgs(id=template.id, version=template.latest_version.apply(str)),
            labels=dict(plan.labels),
            taints=[
                eks.NodeGroupTaintArgs(key=taint.key, value=taint.value or None, effect=taint.eks_effect)
                for taint in plan.taints
            ],
            scaling_config=eks.NodeGroupScalingConfigArgs(
                min_size=plan.sizes.minimum, desired_size=plan.sizes.desired, max_size=plan.sizes.maximum
            ),
            update_config=eks.NodeGroupUpdateConfigArgs(
                max_unavailable=plan.update.max_unavailable,
                max_unavailable_percentage=plan.update.max_unavailable_percentage,
            ),
            force_update_version=plan.update.force,
            node_repair_config=None
            if plan.node_repair is None
            else eks.NodeGroupNodeRepairConfigArgs(enabled=plan.node_repair),
            tags=self.tags(plan.name, found_by),
            opts=self.child(
                depends_on=(*args.ready, *args.role.ready),
                # After creation an autoscaler controls the number of nodes.
                ignore_changes=["scalingConfig.desiredSize"],
                # "You must create a new node group to switch between specifying an AMI ID in a launch template and
                # not" (EKS user guide, launch templates). The provider sees no change in an amiType that is omitted.
                replaced_by=str(plan.case),
            ),
        )

    def _self_managed(
        self, args: NodeGroupArgs, template: ec2.LaunchTemplate, marks: dict[str, str]
    ) -> autoscaling.Group:
        plan = args.plan
        return autoscaling.Group(
            plan.name,
            name_prefix=plan.name_prefix,
            min_size=plan.sizes.minimum,
            desired_capacity=plan.sizes.desired,
            max_size=plan.sizes.maximum,
            vpc_zone_identifiers=args.subnet_ids,
            health_check_type="EC2",
            # Both would end running nodes at any time. New nodes are spread over the zones in any case.
            # Source: cluster autoscaler, AWS README, "Common Notes and Gotchas".
            capacity_rebalance=False,
            suspended_processes=["AZRebalance"],
            mixed_instances_policy=_instances(plan, template),
            instance_refresh=autoscaling.GroupInstanceRefreshArgs(
                # A new version of the launch template starts it; no other trigger is needed.
                strategy="Rolling",
                preferences=autoscaling.GroupInstanceRefreshPreferencesArgs(
                    min_healthy_percentage=plan.min_healthy_percentage
                ),
            ),
            tags=[
                autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=True)
                for key, value in self.tags(plan.name, marks).items()
            ]
            + [
                # Not needed on instances, which allow 50 tags.
                autoscaling.GroupTagArgs(key=key, value=value, propagate_at_launch=False)
                for key, value in args.autoscaler_tags
            ],
            opts=self.child(depends_on=(*args.ready, *args.role.ready), ignore_changes=["desiredCapacity"]),
        )

    def _autoscaler_tags(self, args: NodeGroupArgs) -> list[autoscaling.Tag]:
        """Tag the Auto Scaling Group that EKS created: the tags of a managed group are not copied to it.

        Source: EKS user guide, "Simplify node lifecycle with managed node groups".
        """
        name = self.auto_scaling_group.apply(required)
        return [
            autoscaling.Tag(
                f"{args.plan.name}-{key}",
                autoscaling_group_name=name,
                tag=autoscaling.TagTagArgs(key=key, value=value, propagate_at_launch=False),
                opts=self.child(),
            )
            for key, value in args.autoscaler_tags
        ]


def _instances(plan: NodeGroupPlan, template: ec2.LaunchTemplate) -> autoscaling.GroupMixedInstancesPolicyArgs:
    """Return the instance types in order of preference, and how they are bought."""
    spot = plan.capacity_type is CapacityType.SPOT
    return autoscaling.GroupMixedInstancesPolicyArgs(
        launch_template=autoscaling.GroupMixedInstancesPolicyLaunchTemplateArgs(
            launch_template_specification=autoscaling.GroupMixedInstancesPolicyLaunchTemplateLaunchTemplateSpecificationArgs(
                launch_template_id=template.id, version=template.latest_version.apply(str)
            ),
            overrides=[
                autoscaling.GroupMixedInstancesPolicyLaunchTemplateOverrideArgs(instance_type=instance.name)
                for instance in plan.instance_types
            ],
        ),
        instances_distribution=autoscaling.GroupMixedInstancesPolicyInstancesDistributionArgs(
            on_demand_base_capacity=plan.distribution.base,
            on_demand_percentage_above_base_capacity=plan.distribution.percentage if spot else 100,
            on_demand_allocation_strategy="prioritized",
            spot_allocation_strategy=plan.distribution.strategy,
        ),
    )


def find_problem(known: Sequence[str]) -> str | None:
    """Return what is wrong with a managed group; ``known`` is the cluster's name, the group's, and EKS's status.

    A group that could not be created keeps its ID, and the engine goes on with it. EKS calls a group degraded that has
    nodes and can't get others, for example without capacity: that must not stop an update.
    Source: EKS API reference, Nodegroup; terraform-provider-aws, internal/service/eks/node_group.go.
    """
    cluster, group, status = known
    named = f"--cluster-name {cluster} --nodegroup-name {group}"
    waited = f"wait until it is gone (`aws eks wait nodegroup-deleted {named}`), and run `pulumi up` again."
    if status == "DELETING":
        return f"EKS is deleting node group {group}: {waited}"
    if status not in ("CREATE_FAILED", "DELETE_FAILED", "DEGRADED"):
        return None
    problem = (
        f"EKS reports node group {group} as {status}; `aws eks describe-nodegroup {named}` says why, below health."
    )
    if status == "DEGRADED":
        pulumi.log.warn(problem)
        return None
    return f"{problem} Delete it with `aws eks delete-nodegroup {named}`, {waited}"


def _first_auto_scaling_group(resources: object) -> str | None:
    """Return the name of a managed group's Auto Scaling Group, from its ``resources``."""
    for entry in resources if isinstance(resources, list) else []:
        for group in getattr(entry, "autoscaling_groups", None) or []:
            return str(group.name)
    return None


def required(auto_scaling_group: str | None) -> str:
    """Reject a missing name: without its tags the autoscaler would not find the group."""
    if not auto_scaling_group:
        raise OutsideError(
            "EKS returned no Auto Scaling Group for a node group.", hint="Run pulumi refresh, and try again."
        )
    return auto_scaling_group
