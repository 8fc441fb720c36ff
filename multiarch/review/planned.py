"""What the components declare for a plan, as steps: where no preview shows it, as for a fork, the stack files do.

Resources have the types, names and inputs of a preview, as far as a rule looks at them, so that the same rules find
the same. What they name of one another is known only after the update, and does not count as changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from multiarch.autoscaling.karpenter import build_auto_mode_class, build_node_class, build_node_pool
from multiarch.autoscaling.model import build_scale_down_arguments
from multiarch.facts.admission import INSTALLATION_NAME as WEBHOOK
from multiarch.facts.autoscalers import IMAGES, find_copied_image
from multiarch.facts.rebalance import LEASE as REBALANCE
from multiarch.observed.resources.nodes import AUTO_MODE_CLASS, NODE_CLASS, NODE_POOL
from multiarch.observed.resources.paths import MISSING, UNKNOWN, get_value_at, is_below, list_differences
from multiarch.observed.resources.properties import Properties
from multiarch.review.model import Operation, StackChange, StackVersion, State, Step
from multiarch.rules import Finding
from multiarch.stack.model import (
    AddonPlan,
    ClusterPlan,
    ExistingClusterPlan,
    NewNetwork,
    Plan,
    PodRolePlan,
    list_services,
)
from multiarch.stack.roles import FARGATE, OF_NODES, list_roles

CLUSTER, RELEASE, ADD_ON = "aws:eks/cluster:Cluster", "kubernetes:helm.sh/v3:Release", "aws:eks/addon:Addon"
VPC, POD_CIDR = "aws:ec2/vpc:Vpc", "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
_LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
_ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_PLANNED, _OWN = "planned:", "of this stack"
_FORCED = (
    "region",
    "name",
    "cidrBlock",
    "availabilityZone",
    "trafficType",
    "encryptionConfig",
    "kubernetesNetworkConfig",
    "vpcConfig.vpcId",
    "roleArn",
    "selectors",
)
"""Inputs of AWS's resources here whose change replaces them. Source: pulumi-aws's schema; EKS API, CreateCluster."""
_FIXED = {
    "cidrBlock": "network.cidr",
    "kubernetesNetworkConfig.ipFamily": "network.ipFamily",
    "kubernetesNetworkConfig.serviceIpv4Cidr": "network.serviceCidr",
    "encryptionConfig": "secretsEncryption",
    "vpcConfig.vpcId": "network.vpcId",
    "roleArn": "iam.path and iam.roles.cluster",
}
"""Keys of a stack that the rule ``fixed-value`` compares, by the inputs of the cluster and its VPC."""
_Row = tuple[str, str, Properties]


def with_planned_steps(change: StackChange) -> StackChange:
    """Return the change with a step for each resource that a complete preview would show and this one does not."""
    new, sides = change.after, [each for each in (change.before, change.after) if each]
    if change.preview.is_complete or new is None or any(each.plan is None for each in sides):
        return change
    seen = {(step.type, step.name) for step in change.preview.steps}
    more = [step for step in _list_steps(change.before, new) if (step.type, step.name) not in seen]
    return replace(change, preview=replace(change.preview, steps=(*change.preview.steps, *more)))


def explain_fixed_value(step: Step) -> str:
    """Say that a preview rejects the replacement that the stack files alone show; empty where it does not."""
    keys = [key for path, key in _FIXED.items() if any(is_below(each, [path]) for each in step.causes)]
    if not keys or step.type not in (CLUSTER, VPC) or not step.urn.startswith(_PLANNED):
        return ""
    if {"name", "region"} & {*step.causes}:  # there is no cluster to compare with
        return ""
    return f"`pulumi preview` rejects this (fixed-value): a cluster keeps {', '.join(keys)} for its life"


def replace_planned_urns(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings with the URNs that the preview knows, without those that it has of the same subject."""
    known: dict[tuple[str, str], bool] = {}
    for each in findings:
        urns = tuple(urn for urn in each.urns if not urn.startswith(_PLANNED))
        is_planned, key = len(urns) < len(each.urns), (each.rule.name, each.subject)
        if not (is_planned and known.get(key) is False):
            yield replace(each, urns=urns)
        known.setdefault(key, is_planned)


def _list_steps(old: StackVersion | None, new: StackVersion) -> Iterator[Step]:
    before, after = _declare(old), _declare(new)
    for type_, name in sorted({*before, *after}):
        was, now = before.get((type_, name)), after.get((type_, name))
        changed: tuple[str, ...] = ()
        operation = Operation.CREATE if was is None else Operation.DELETE
        causes: tuple[str, ...] = ()
        if was is not None and now is not None:
            changed = tuple(path for path in list_differences(was, now) if _is_known(path, was, now))
            if type_.startswith("aws:"):
                causes = tuple(each for each in changed if is_below(each, _FORCED) and _is_set(was, each))
            operation = Operation.REPLACE if causes else Operation.UPDATE if changed else Operation.SAME
        urn = f"{_PLANNED}{type_}::{name}"
        yield Step(operation, urn, type_, name, "", _state(was), _state(now), changed, causes)


def _is_known(path: str, *sides: Properties) -> bool:
    return all(get_value_at(side, path) != UNKNOWN for side in sides)


def _is_set(side: Properties, path: str) -> bool:
    return get_value_at(side, path) is not MISSING


def _state(inputs: Properties | None) -> State | None:
    return None if inputs is None else State(inputs, {})


def _declare(version: StackVersion | None) -> Mapping[tuple[str, str], Properties]:
    plan = version.plan if version else None
    if version is None or plan is None:
        return {}
    parts = (
        _list_roles,
        _list_control_plane,
        _list_sessions,
        _list_fargate,
        _list_network,
        _list_nodes,
        _list_releases,
        _list_repositories,
    )
    rows = chain(*(part(plan) for part in parts), map(_name_object, version.objects))
    return {
        (type_, name): {**inputs, "region": plan.region} if type_.startswith("aws:") else inputs
        for type_, name, inputs in rows
    }


def _name_object(manifest: Properties) -> _Row:
    """Return an object in the cluster, named as the components name it."""
    version, metadata = str(manifest["apiVersion"]), manifest["metadata"]
    place = metadata.get("namespace", REBALANCE)
    name = metadata["name"] if place == REBALANCE else f"{metadata['name']}-{place}"
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{manifest['kind']}", name, manifest


def _list_control_plane(plan: Plan) -> Iterator[_Row]:
    if isinstance(plan.cluster, ExistingClusterPlan):
        return
    cluster = plan.cluster
    upgrades = {"upgradePolicy": {"supportType": cluster.upgrade_policy}} if cluster.upgrade_policy else {}
    inputs = {
        "name": cluster.name,
        "version": cluster.version,
        "deletionProtection": cluster.deletion_protection,
        "roleArn": plan.iam.roles.get("cluster", f"{_OWN}, with the path {plan.iam.path}"),
        "enabledClusterLogTypes": sorted(cluster.logging.types),
        "kubernetesNetworkConfig": {
            "ipFamily": "ipv4" if cluster.service_cidr else "ipv6",
            "serviceIpv4Cidr": cluster.service_cidr or UNKNOWN,
        },
        **upgrades,
        **cluster.later_inputs,
        "vpcConfig": {
            "endpointPrivateAccess": cluster.endpoint.private,
            "endpointPublicAccess": cluster.endpoint.public,
            "publicAccessCidrs": sorted(cluster.endpoint.public_cidrs),
            "vpcId": _OWN if isinstance(plan.network, NewNetwork) else plan.network.vpc_id,
        },
    }
    if cluster.encryption.enabled:
        provider = {"keyArn": cluster.encryption.kms_key_arn or _OWN}
        inputs["encryptionConfig"] = {"provider": provider, "resources": ["secrets"]}
    yield CLUSTER, "cluster-eksCluster", inputs
    if cluster.logging.types:
        yield _log_group("control-plane", cluster.log_group_name, cluster.logging.retention_days)
    for principal, entry in cluster.access.collect_entries().items():
        of = {"clusterName": cluster.name, "principalArn": principal}
        if entry.groups:
            yield "aws:eks/accessEntry:AccessEntry", principal, {**of, "kubernetesGroups": entry.groups}
        for policy, scope in entry.policies.items():
            where = {"type": "namespace", "namespaces": scope.namespaces} if scope.namespaces else {"type": "cluster"}
            access = {**of, "policyArn": policy, "accessScope": where}
            yield "aws:eks/accessPolicyAssociation:AccessPolicyAssociation", f"{principal} {policy}", access
    for each in plan.addons:
        configuration = {"configurationValues": each.configuration or "{}"}
        version = {"addonVersion": each.version} if each.version else {}
        yield ADD_ON, each.name, {"addonName": each.name, **configuration, **version}
        if each.extra and each.name not in plan.iam.roles:
            yield from _list_policies(each)


def _list_fargate(plan: Plan) -> Iterator[_Row]:
    for name, profile in plan.fargate_profiles.items():
        selectors = [{"namespace": each.namespace, "labels": each.labels} for each in profile.selectors]
        yield "aws:eks/fargateProfile:FargateProfile", name, {"selectors": selectors}


def _list_policies(role: AddonPlan | PodRolePlan) -> Iterator[_Row]:
    if role.policy:
        yield "aws:iam/rolePolicy:RolePolicy", role.name, {"role": role.name, "policy": role.policy}
    for policy in role.policies:
        arn = policy if policy.startswith("arn:") else f"arn:aws:iam::aws:policy/{policy}"
        yield _ATTACHMENT, f"{role.name} {policy}", {"role": role.name, "policyArn": arn}


def _list_roles(plan: Plan) -> Iterator[_Row]:
    """Yield the roles that the stack makes, with what limits them, and the policies that it adds to nodes' roles."""
    iam = plan.iam
    for name in list_roles(plan):
        if name in iam.roles:
            continue
        limit = {"permissionsBoundary": iam.permissions_boundary} if iam.permissions_boundary else {}
        yield "aws:iam/role:Role", name, limit
        for policy in iam.node_policies if name.endswith(OF_NODES) else ():
            yield _ATTACHMENT, f"{name}-{policy}", {"role": name, "policyArn": policy}
        if iam.pull_through_repositories and (name == FARGATE or name.endswith(OF_NODES)):
            yield _allow_ecr(f"{name}-pull-through", name, "ecr:CreateRepository", iam.pull_through_repositories)
    yield from chain.from_iterable(_list_policies(each) for each in plan.pod_roles if each.name not in iam.roles)


def _log_group(name: str, group: str, days: int) -> _Row:
    return _LOG_GROUP, name, {"name": group, "kmsKeyId": _OWN, "retentionInDays": days}


def _list_sessions(plan: Plan) -> Iterator[_Row]:
    """Yield what sessions on nodes have, and the key, which encrypts Secrets of a new cluster too."""
    session, cluster = plan.session, plan.cluster
    if isinstance(cluster, ClusterPlan) or session.needs_key:
        window = 30 if isinstance(cluster, ClusterPlan) and cluster.deletion_protection else 7
        yield "aws:kms/key:Key", "key", {"enableKeyRotation": True, "deletionWindowInDays": window}
    if session.log_group_name:
        yield _log_group("sessions", session.log_group_name, session.settings.log_retention_days)
    inputs = {
        "kmsKeyId": _OWN if session.settings.encrypt else "",
        "cloudWatchStreamingEnabled": session.log_group_name is not None,
    }
    yield "aws:ssm/document:Document", "preferences", {"content": {"inputs": inputs}}


def _list_network(plan: Plan) -> Iterator[_Row]:
    network = plan.network
    if not isinstance(network, NewNetwork):
        return
    yield VPC, "vpc", {"cidrBlock": network.cidr}
    if network.pod_cidr:
        yield POD_CIDR, "pods", {"cidrBlock": network.pod_cidr}
    for subnet in (*network.subnets, *network.pod_subnets):
        zone = network.zones[subnet.zone] if network.zones else UNKNOWN
        yield "aws:ec2/subnet:Subnet", subnet.name, {"cidrBlock": subnet.cidr, "availabilityZone": zone}
    for index in range({"none": 0, "single": 1}.get(network.nat, network.zone_count)):
        yield "aws:ec2/natGateway:NatGateway", f"nat-{index}", {}
        yield "aws:ec2/eip:Eip", f"nat-{index}", {}
    for name in list_services(network.endpoints):
        yield "aws:ec2/vpcEndpoint:VpcEndpoint", name, {}
    if network.flow_logs:
        group = f"/multiarch-eks/{plan.cluster.name}/flow-logs"
        yield _log_group("flow-logs", group, network.flow_logs.retention_days)
        yield "aws:ec2/flowLog:FlowLog", "flow-logs", {"trafficType": network.flow_logs.traffic}


def _list_nodes(plan: Plan) -> Iterator[_Row]:
    """Yield what node groups have beside what their own plans say, and Karpenter's objects."""
    for group in plan.node_groups:
        metadata = {"httpTokens": "required", "httpPutResponseHopLimit": group.imds_hop_limit}
        disks = [{"ebs": {"encrypted": "true"}}]
        inputs = {"metadataOptions": metadata, "blockDeviceMappings": disks}
        yield "aws:ec2/launchTemplate:LaunchTemplate", group.name, inputs
    cluster = plan.cluster
    theirs = (plan.security_groups or (_OWN,)) if isinstance(cluster, ExistingClusterPlan) else ()
    if karpenter := plan.autoscaling.karpenter:
        node_class = build_node_class(
            karpenter.node_class,
            cluster=cluster.name,
            role="",
            tags=plan.tags,
            security_groups=theirs,
            instance_profile=_OWN if karpenter.isolated else None,
        )
        yield NODE_CLASS, karpenter.node_class.name, node_class
        for pool in karpenter.pools:
            yield NODE_POOL, pool.name, build_node_pool(pool)
    if auto_mode := plan.autoscaling.auto_mode:
        node_class = build_auto_mode_class(
            auto_mode.node_class,
            role=auto_mode.node_class.role,
            subnet_ids=[{"id": each} for each in auto_mode.node_class.subnet_ids],
            security_groups=theirs or (_OWN,),
            tags=plan.tags if auto_mode.tagged else (),
        )
        yield AUTO_MODE_CLASS, auto_mode.node_class.name, node_class
        for pool in auto_mode.pools:
            yield NODE_POOL, pool.name, build_node_pool(pool)


def _list_releases(plan: Plan) -> Iterator[_Row]:
    releases: dict[str, Properties] = {}
    copied = {name: find_copied_image(name, plan.image_registries) for name in IMAGES}
    images = {name: {"image": {"repository": found}} if found else {} for name, found in copied.items()}
    autoscaler, karpenter = plan.autoscaling.cluster_autoscaler, plan.autoscaling.karpenter
    if autoscaler and not autoscaler.settings.installed:
        values: Properties = {"extraArgs": build_scale_down_arguments(autoscaler), **images["cluster-autoscaler"]}
        releases["cluster-autoscaler"] = {"version": autoscaler.chart_version, "values": values}
    if karpenter and not karpenter.settings.installed:
        settings = {"featureGates": {"spotToSpotConsolidation": karpenter.settings.spot_to_spot_consolidation}}
        values = {"settings": settings, "controller": images["karpenter"]}
        releases["karpenter"] = {"version": karpenter.chart_version, "values": values}
        releases["karpenter-crd"] = {"version": karpenter.chart_version}
    releases |= {each.name: {"values": images[each.name]} for each in plan.own_daemons}
    for name, inputs in releases.items():
        chart = f"{plan.chart_registry}/{name}" if plan.chart_registry else "its publisher's"
        yield RELEASE, name, {**inputs, "chart": chart}
    if plan.admission_webhook:
        yield RELEASE, WEBHOOK, {"values": plan.admission_webhook.values.chart_values()}


def _list_repositories(plan: Plan) -> Iterator[_Row]:
    """Yield which images of Amazon ECR the webhook and rebalancing may read."""
    for name, of in ((WEBHOOK, plan.admission_webhook), (REBALANCE, plan.rebalance)):
        if of and of.ecr_repositories:
            yield _allow_ecr(name, name, "ecr:BatchGetImage", of.ecr_repositories)


def _allow_ecr(name: str, role: str, action: str, repositories: Sequence[str]) -> _Row:
    arns = [each if ":" in each else f"arn:aws:ecr:*:*:repository/{each}" for each in repositories]
    policy = json.dumps(
        {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": arns}]}
    )
    return "aws:iam/rolePolicy:RolePolicy", name, {"role": role, "policy": policy}
