"""A cluster as eksctl makes it: a managed node group, a spot one, and an unmanaged one.

Source: eksctl, ``pkg/cfn/builder/managed_nodegroup.go``, ``managed_launch_template.go``, ``nodegroup.go`` (names, tags,
two hops, 80 GiB), ``pkg/nodebootstrap/al2023.go`` (flags of the kubelet), ``pkg/apis/eksctl.io/v1alpha5/types.go``.
Its default groups are in the public subnets.
"""

from __future__ import annotations

from typing import Any

from sandbox.existing.account import Account, encode_node_config, list_tags

ADDONS = ("coredns", "kube-proxy", "vpc-cni")


def create_cluster(at: Account, name: str) -> None:
    """Make the cluster and its groups: ``general`` and ``spot`` managed, ``batch`` unmanaged with a taint."""
    stack = f"eksctl-{name}-cluster"
    tags = {"alpha.eksctl.io/cluster-name": name, "eksctl.cluster.k8s.io/v1alpha1/cluster-name": name}
    network = at.make_network(f"{stack}/SubnetPrivate{{zone}}", f"{stack}/SubnetPublic{{zone}}", tags)
    role = at.make_role(f"{stack}-ServiceRole-5CK8JHNVLJQ1", "eks", ("AmazonEKSClusterPolicy",))
    cluster = at.make_cluster(
        name, role, network.subnets, tags={**tags, "alpha.eksctl.io/cluster-oidc-enabled": "true"}
    )
    at.make_addons(name, ADDONS)
    group = cluster["resourcesVpcConfig"]["clusterSecurityGroupId"]
    for each, more in (
        ("general", {"instanceTypes": ["m5.large"]}),
        ("spot", {"instanceTypes": ["c5.xlarge", "c5a.xlarge"], "capacityType": "SPOT"}),
    ):
        _make_managed_group(at, name, each, list(network.public), group, more)
    _make_unmanaged_group(at, cluster, "batch", list(network.private))


def _make_managed_group(
    at: Account, cluster: str, name: str, subnets: list[str], security_group: str, more: dict[str, Any]
) -> None:
    stack, tags = f"eksctl-{cluster}-nodegroup-{name}", _tags(cluster, name, "managed")
    template = at.make_template(stack, _template_data(f"{cluster}-{name}-Node", [security_group]))
    at.client("eks").create_nodegroup(
        clusterName=cluster,
        nodegroupName=name,
        subnets=subnets,
        nodeRole=at.make_role(f"{stack}-NodeInstanceRole-mQ1XkVhXqT2s"),
        launchTemplate=template,
        labels={"alpha.eksctl.io/cluster-name": cluster, "alpha.eksctl.io/nodegroup-name": name, "tier": name},
        scalingConfig={"minSize": 1, "maxSize": 6, "desiredSize": 2},
        tags=tags,
        **{"amiType": "AL2023_x86_64_STANDARD", **more},
    )


def _make_unmanaged_group(at: Account, cluster: dict[str, Any], name: str, subnets: list[str]) -> None:
    stack = f"eksctl-{cluster['name']}-nodegroup-{name}"
    vpc = cluster["resourcesVpcConfig"]
    made = at.client("ec2").create_security_group(
        GroupName=f"{stack}-SG-1", Description=f"worker nodes in group {name}", VpcId=vpc["vpcId"]
    )
    role = at.make_role(
        f"{stack}-NodeInstanceRole-Zc2UjTnYp7Le", policies=("AmazonEKSWorkerNodePolicy", "AmazonS3ReadOnlyAccess")
    )
    labels = f"alpha.eksctl.io/cluster-name={cluster['name']},alpha.eksctl.io/nodegroup-name={name},work=batch"
    flags = (f"--node-labels={labels}", "--register-with-taints=work=batch:NoSchedule")
    template = at.make_template(
        stack,
        {
            **_template_data(f"{cluster['name']}-{name}-Node", [made["GroupId"]]),
            "ImageId": at.find_image(),
            "InstanceType": "r5.xlarge",
            "IamInstanceProfile": {"Arn": role.replace(":role/", ":instance-profile/")},
            "UserData": encode_node_config(cluster, *flags),
        },
    )
    at.make_scaling_group(
        f"{stack}-NodeGroup-1Q7XQ2F8C5L3V",
        {
            **_tags(cluster["name"], name, "unmanaged"),
            "Name": f"{cluster['name']}-{name}-Node",
            f"kubernetes.io/cluster/{cluster['name']}": "owned",
            "k8s.io/cluster-autoscaler/enabled": "true",
            f"k8s.io/cluster-autoscaler/{cluster['name']}": "owned",
        },
        subnets,
        LaunchTemplate={"LaunchTemplateId": template["id"], "Version": template["version"]},
        MinSize=0,
        MaxSize=10,
        DesiredCapacity=1,
    )


def _tags(cluster: str, name: str, kind: str) -> dict[str, str]:
    return {
        "alpha.eksctl.io/cluster-name": cluster,
        "alpha.eksctl.io/nodegroup-name": name,
        "alpha.eksctl.io/nodegroup-type": kind,
        "eksctl.cluster.k8s.io/v1alpha1/cluster-name": cluster,
    }


def _template_data(name: str, security_groups: list[str]) -> dict[str, Any]:
    volume = {"VolumeSize": 80, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125}
    return {
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": volume}],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
        "SecurityGroupIds": security_groups,
        "TagSpecifications": [{"ResourceType": "instance", "Tags": list_tags({"Name": name})}],
    }
