"""A node group's launch template: image, disks, metadata service, user data, and tags for what it launches."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pulumi
from pulumi_aws import ec2, ssm

from multiarch.facts.ami_families import get_family
from multiarch.nodes.model import BootstrapCase, ClusterFacts, NodeGroupKind, NodeGroupPlan
from multiarch.nodes.user_data import render_user_data

# Default tags of the provider and engine apply to the template; these apply to what is launched from it.
TAGGED_BY_LAUNCH = ("instance", "network-interface", "volume")


def declare(
    group: NodeGroupPlan,
    *,
    facts: pulumi.Output[ClusterFacts],
    tags: dict[str, str],
    launched_tags: dict[str, str],
    instance_profile_arn: pulumi.Input[str] | None,
    security_group_ids: Sequence[pulumi.Input[str]],
    opts: pulumi.ResourceOptions,
) -> ec2.LaunchTemplate:
    """Declare the launch template of one group.

    ``instance_profile_arn`` belongs to self-managed groups, and so do ``security_group_ids`` unless an existing cluster
    needs others than EKS's own, or EFA interfaces name them: EKS sets both for managed ones.
    """
    return ec2.LaunchTemplate(
        group.name,
        name_prefix=group.launch_template_prefix,
        description=f"{group.architecture} nodes of {group.name}",
        # Only for manual launches: both kinds of groups use a version number.
        update_default_version=True,
        image_id=_image(group, opts),
        # A managed group has its own list of types, and the API rejects both; an Auto Scaling Group's overrides take
        # precedence over this one.
        instance_type=group.instance_types[0].name if group.kind is NodeGroupKind.SELF_MANAGED else None,
        user_data=facts.apply(lambda cluster: encoded_user_data(group, cluster)),
        block_device_mappings=_disks(group),
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled",
            http_tokens="required",
            http_put_response_hop_limit=group.imds_hop_limit,
            # Tag keys such as kubernetes.io/cluster/NAME are not allowed in metadata: instances would not start.
            instance_metadata_tags="disabled",
        ),
        iam_instance_profile=ec2.LaunchTemplateIamInstanceProfileArgs(arn=instance_profile_arn)
        if instance_profile_arn is not None
        else None,
        # EC2 takes security groups of the template, or of each of its interfaces.
        vpc_security_group_ids=None if group.efa else list(security_group_ids) or None,
        network_interfaces=_interfaces(group, security_group_ids) if group.efa else None,
        placement=ec2.LaunchTemplatePlacementArgs(group_name=group.placement_group) if group.placement_group else None,
        capacity_reservation_specification=_reservation(group.capacity_reservation),
        tag_specifications=[
            ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=launched_tags) for kind in TAGGED_BY_LAUNCH
        ],
        tags=tags,
        opts=opts,
    )


def encoded_user_data(group: NodeGroupPlan, cluster: ClusterFacts) -> str | None:
    """Return user data in base64, as EC2's API requires; None when the group needs none."""
    text = render_user_data(group, cluster)
    return base64.b64encode(text.encode()).decode() if text else None


def _image(group: NodeGroupPlan, opts: pulumi.ResourceOptions) -> pulumi.Input[str] | None:
    """Return the configured AMI; else for a self-managed group the recommended one; None leaves the choice to EKS."""
    if group.ami.id is not None:
        return group.ami.id
    if group.case is not BootstrapCase.SELF_MANAGED:
        return None
    invoke = pulumi.InvokeOptions(parent=opts.parent)
    # The parameters are public; ``value`` would be marked as a secret.
    return ssm.get_parameter_output(name=group.ami.ssm_parameter, opts=invoke).insecure_value


def _reservation(chosen: str) -> ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Return where instances are reserved. EC2 takes a target or a preference, not both."""
    if not chosen:
        return None
    specification = ec2.LaunchTemplateCapacityReservationSpecificationArgs
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs
    if chosen.startswith("cr-"):
        return specification(capacity_reservation_target=target(capacity_reservation_id=chosen))
    if chosen.startswith("arn:"):
        return specification(capacity_reservation_target=target(capacity_reservation_resource_group_arn=chosen))
    return specification(capacity_reservation_preference=chosen)


def _interfaces(
    group: NodeGroupPlan, security_group_ids: Sequence[pulumi.Input[str]]
) -> list[ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Return the primary interface, with EFA where card 0 takes it, and one for EFA alone on each other card.

    Those need no IP addresses, and the CNI leaves them alone. Their device index is 0, which every card has: a card
    takes those below its MaximumNetworkInterfaces, and that is 1 on some of p6e-gb200. EC2 gives no public address to
    one of several interfaces, and would reject the launch in a subnet that assigns them. Sources: EKS user guide, "EFA
    and EFA-only interfaces"; EC2 user guide, "Maximize network bandwidth on Amazon EC2 instances with multiple network
    cards", whose examples have this layout of cards and device indexes; aws-parallelcluster, pull request 6930.
    """
    cards = group.instance_types[0].efa_cards or ()
    kinds = {0: "interface"} | {card: "efa-only" if card else "efa" for card in cards}
    return [
        ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card,
            device_index=0,
            interface_type=kind,
            associate_public_ip_address="false",
            delete_on_termination="true",
            security_groups=list(security_group_ids),
        )
        for card, kind in kinds.items()
    ]


def _disks(group: NodeGroupPlan) -> list[ec2.LaunchTemplateBlockDeviceMappingArgs]:
    """Return the group's disk, and a separate system disk for families that have one."""
    layout = get_family(group.family).devices
    sizes = {layout.root: layout.root_gib, layout.node_storage: group.disk_size}
    return [
        ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=device,
            ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                volume_type="gp3", volume_size=size, encrypted="true", delete_on_termination="true"
            ),
        )
        for device, size in sorted(sizes.items())
    ]
