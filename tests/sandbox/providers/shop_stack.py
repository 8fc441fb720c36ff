"""A stack of some sixty resources, run by the real engine through the Automation API.

``python shop_stack.py FOLDER STEP``, where STEP is up, preview, refresh, cancel or destroy, prints a line of JSON with
the operations by kind. The variables ``SHOP_MAX_SIZE``, ``SHOP_USER_DATA`` and ``SHOP_EKS_INPUT`` change the program.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
from pulumi import automation

REGION = "eu-west-1"
ALL = "0.0.0.0/0"
TAGS = {"team": "shop"}
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"


def trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def allow(action: str, resource: str = "*", **more: Any) -> str:
    statement = {"Effect": "Allow", "Action": action, "Resource": resource, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def network() -> tuple[aws.ec2.Vpc, list[aws.ec2.Subnet]]:
    vpc = aws.ec2.Vpc("net", cidr_block="10.0.0.0/16", enable_dns_hostnames=True, tags=TAGS)
    gateway = aws.ec2.InternetGateway("net", vpc_id=vpc.id)
    public = aws.ec2.RouteTable("public", vpc_id=vpc.id)
    aws.ec2.Route("out", route_table_id=public.id, destination_cidr_block=ALL, gateway_id=gateway.id)
    subnets = []
    for number, zone in enumerate(aws.get_availability_zones(state="available").names[:3]):
        subnet = aws.ec2.Subnet(
            f"public-{number}", vpc_id=vpc.id, cidr_block=f"10.0.{number}.0/24", availability_zone=zone
        )
        aws.ec2.RouteTableAssociation(f"public-{number}", route_table_id=public.id, subnet_id=subnet.id)
        address = aws.ec2.Eip(f"nat-{number}", domain="vpc")
        nat = aws.ec2.NatGateway(f"nat-{number}", allocation_id=address.id, subnet_id=subnet.id)
        table = aws.ec2.RouteTable(f"private-{number}", vpc_id=vpc.id)
        aws.ec2.Route(f"private-{number}", route_table_id=table.id, destination_cidr_block=ALL, nat_gateway_id=nat.id)
        subnets.append(subnet)
    https = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/16"]}
    doors = aws.ec2.SecurityGroup("doors", vpc_id=vpc.id, description="doors", ingress=loose([https]))
    aws.ec2.VpcEndpoint(
        "ssm",
        vpc_id=vpc.id,
        service_name=f"com.amazonaws.{REGION}.ssm",
        vpc_endpoint_type="Interface",
        subnet_ids=[subnet.id for subnet in subnets],
        security_group_ids=[doors.id],
        private_dns_enabled=True,
    )
    aws.ec2.DefaultSecurityGroup("net", vpc_id=vpc.id)
    aws.cloudwatch.LogGroup("sessions", name="shop-sessions", retention_in_days=7, tags=TAGS)
    return vpc, subnets


def node_role() -> aws.iam.Role:
    role = aws.iam.Role("node", assume_role_policy=trust("ec2.amazonaws.com"), tags=TAGS)
    for name in ("AmazonEKSWorkerNodePolicy", "AmazonSSMManagedInstanceCore"):
        aws.iam.RolePolicyAttachment(name, role=role.name, policy_arn=f"arn:aws:iam::aws:policy/{name}")
    aws.iam.RolePolicy("inline", role=role.name, policy=allow("s3:GetObject"))
    own = aws.iam.Policy("own", policy=allow("s3:PutObject"))
    aws.iam.RolePolicyAttachment("own", role=role.name, policy_arn=own.arn)
    return role


def service_role() -> aws.iam.Role:
    role = aws.iam.Role("cluster", assume_role_policy=trust("eks.amazonaws.com"))
    aws.iam.RolePolicyAttachment("cluster", role=role.name, policy_arn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")
    return role


def queue() -> None:
    made = aws.sqs.Queue("interruptions", message_retention_seconds=300, sqs_managed_sse_enabled=True, tags=TAGS)
    principal = {"Service": "events.amazonaws.com"}
    policy = made.arn.apply(lambda arn: allow("sqs:SendMessage", arn, Principal=principal))
    aws.sqs.QueuePolicy("interruptions", queue_url=made.id, policy=policy)
    for source in ("health", "ec2", "autoscaling"):
        rule = aws.cloudwatch.EventRule(source, event_pattern=json.dumps({"source": [f"aws.{source}"]}), tags=TAGS)
        aws.cloudwatch.EventTarget(source, rule=rule.name, arn=made.arn)
    session = {"schemaVersion": "1.0", "description": "d", "sessionType": "Standard_Stream", "inputs": {}}
    aws.ssm.Document("session", document_type="Session", document_format="JSON", content=json.dumps(session))


def program() -> None:
    vpc, subnets = network()
    role = node_role()
    queue()
    key = aws.kms.Key("secrets", description="d", enable_key_rotation=True, deletion_window_in_days=7, tags=TAGS)
    aws.kms.Alias("secrets", name="alias/shop", target_key_id=key.key_id)
    scope = aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster")
    policy = eks.AccessPolicyAssociationArgs(policy_arn=ADMIN, access_scope=scope)
    extra: dict[str, Any] = json.loads(os.environ.get("SHOP_EKS_INPUT", "{}"))
    cluster = eks.Cluster(
        "shop",
        name="shop",
        version="1.35",
        vpc_id=vpc.id,
        private_subnet_ids=[subnet.id for subnet in subnets],
        service_role=service_role(),
        authentication_mode=eks.AuthenticationMode.API,
        access_entries={"admin": eks.AccessEntryArgs(principal_arn=role.arn, access_policies={"admin": policy})},
        skip_default_node_group=True,
        skip_default_security_groups=True,
        use_default_vpc_cni=True,
        coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
        kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
        create_oidc_provider=True,
        encryption_config_key_arn=key.arn,
        enabled_cluster_log_types=["api"],
        endpoint_private_access=True,
        tags=TAGS,
        **extra,
    )
    nodes(cluster, role, subnets)
    provider = kubernetes.Provider("shop", kubeconfig=cluster.kubeconfig_json)
    opts = pulumi.ResourceOptions(provider=provider)
    kubernetes.core.v1.ConfigMap("settings", metadata={"namespace": "kube-system"}, data={"a": "b"}, opts=opts)
    pulumi.export("issuer", cluster.oidc_issuer)
    pulumi.export("kubeconfig", cluster.kubeconfig)


def own_group(made: aws.eks.Cluster) -> Any:  # noqa: ANN401 (an output in an output)
    return made.vpc_config.apply(lambda config: config.cluster_security_group_id)


def name_of(made: aws.eks.Cluster) -> Any:  # noqa: ANN401 (as above)
    return made.name


def loose(value: object) -> Any:  # noqa: ANN401 (nested arguments under their wire names)
    return value


def nodes(cluster: eks.Cluster, role: aws.iam.Role, subnets: list[aws.ec2.Subnet]) -> None:
    name = cluster.eks_cluster.apply(name_of)
    group = cluster.eks_cluster.apply(own_group)
    disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": 30, "encrypted": "true", "volumeType": "gp3"}}
    template = aws.ec2.LaunchTemplate(
        "arm64",
        block_device_mappings=loose([disk]),
        metadata_options=loose({"httpTokens": "required", "httpPutResponseHopLimit": 2}),
        tag_specifications=loose([{"resourceType": "instance", "tags": TAGS}]),
        user_data=os.environ.get("SHOP_USER_DATA", "Zmlyc3Q="),
        update_default_version=True,
        vpc_security_group_ids=[group],
    )
    managed = aws.eks.NodeGroup(
        "arm64",
        cluster_name=name,
        node_role_arn=role.arn,
        subnet_ids=[subnet.id for subnet in subnets],
        ami_type="AL2023_ARM_64_STANDARD",
        instance_types=["m7g.large"],
        scaling_config=loose({"desiredSize": 1, "maxSize": int(os.environ.get("SHOP_MAX_SIZE", "3")), "minSize": 0}),
        taints=[{"key": "arch", "value": "arm64", "effect": "NO_SCHEDULE"}],
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        tags=TAGS,
        opts=pulumi.ResourceOptions(ignore_changes=["scalingConfig.desiredSize"]),
    )
    taint = {"key": "k8s.io/cluster-autoscaler/node-template/taint/arch", "value": "arm64:NoSchedule"}
    aws.autoscaling.Tag(
        "arm64",
        autoscaling_group_name=managed.resources[0].autoscaling_groups[0].name,
        tag=loose({**taint, "propagateAtLaunch": False}),
    )
    image = aws.ssm.get_parameter(
        name="/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id"
    )
    profile = aws.iam.InstanceProfile("amd64", role=role.name)
    plain = aws.ec2.LaunchTemplate(
        "amd64", image_id=image.value, instance_type="m7i.large", iam_instance_profile={"name": profile.name}
    )
    used = {"launchTemplateId": plain.id, "version": plain.latest_version.apply(str)}
    aws.autoscaling.Group(
        "amd64",
        min_size=1,
        max_size=2,
        desired_capacity=1,
        vpc_zone_identifiers=[subnet.id for subnet in subnets],
        mixed_instances_policy=loose({"launchTemplate": {"launchTemplateSpecification": used}}),
        tags=loose([{"key": "team", "value": "shop", "propagateAtLaunch": True}]),
        instance_refresh=loose({"strategy": "Rolling", "preferences": {"minHealthyPercentage": 50}}),
    )
    after = pulumi.ResourceOptions(depends_on=[managed])
    aws.eks.Addon(
        "coredns", cluster_name=name, addon_name="coredns", configuration_values='{"tolerations": []}', opts=after
    )
    aws.eks.PodIdentityAssociation(
        "ebs", cluster_name=name, namespace="kube-system", service_account="ebs", role_arn=role.arn
    )


def run(folder: Path, step: str) -> dict[str, int]:
    backend = f"file://{folder}"
    settings = automation.ProjectSettings("shop", "python", backend=automation.ProjectBackend(backend))
    stack = automation.create_or_select_stack(
        "dev", "shop", program, opts=automation.LocalWorkspaceOptions(project_settings=settings)
    )
    stack.set_config("aws:region", automation.ConfigValue(REGION))
    if step == "cancel":
        stack.cancel()
        return {}
    if step == "preview":
        return {str(getattr(key, "value", key)): count for key, count in stack.preview().change_summary.items()}
    summary = getattr(stack, step)().summary
    return dict(summary.resource_changes or {})


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), sys.argv[2])) + "\n")
