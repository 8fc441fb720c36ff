"""A cluster as terraform-aws-eks makes it: a managed and a self-managed node group, and Karpenter's role.

Source: terraform-aws-eks 21, ``modules/eks-managed-node-group``, ``modules/self-managed-node-group``,
``modules/karpenter`` (names, tags, access entry, Pod Identity), ``templates/al2023_user_data.tpl``; names with a prefix
get the suffix of terraform-plugin-sdk, ``helper/id``.
"""

from __future__ import annotations

from sandbox.existing.account import Account, encode_node_config, list_tags

ADDONS = ("coredns", "eks-pod-identity-agent", "kube-proxy", "vpc-cni")
_SUFFIX = "20260427162218{:012x}"
_PREFIXES = '{"env":{"ENABLE_PREFIX_DELEGATION":"true","WARM_PREFIX_TARGET":"1"}}'


def create_cluster(at: Account, name: str) -> None:
    """Make the cluster with the groups ``default`` (managed) and ``memory`` (self-managed)."""
    network = at.make_network(f"{name}-vpc-private-{{zone}}", f"{name}-vpc-public-{{zone}}", {"Terraform": "true"})
    at.tag(network.private, {"karpenter.sh/discovery": name})
    role = at.make_role(_named(f"{name}-cluster", 1), "eks", ("AmazonEKSClusterPolicy",))
    cluster = at.make_cluster(name, role, network.private, tags={"terraform-aws-modules": "eks"})
    at.make_addons(name, ADDONS, vpc_cni=_PREFIXES)
    vpc = cluster["resourcesVpcConfig"]
    made = at.client("ec2").create_security_group(
        GroupName=_named(f"{name}-node", 2), Description="EKS node shared security group", VpcId=vpc["vpcId"]
    )
    tags = {f"kubernetes.io/cluster/{name}": "owned", "Name": f"{name}-node", "karpenter.sh/discovery": name}
    at.tag([made["GroupId"]], tags)
    metadata = {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    data = {"MetadataOptions": metadata, "SecurityGroupIds": [made["GroupId"]]}
    at.client("eks").create_nodegroup(
        clusterName=name,
        nodegroupName=_named("default", 3),
        subnets=list(network.private),
        nodeRole=at.make_role(_named("default-eks-node-group", 4)),
        launchTemplate=at.make_template(_named("default", 5), data),
        amiType="AL2023_x86_64_STANDARD",
        instanceTypes=["m6i.large"],
        labels={"karpenter.sh/controller": "true"},
        scalingConfig={"minSize": 2, "maxSize": 3, "desiredSize": 2},
        updateConfig={"maxUnavailablePercentage": 33},
        tags={"Name": "default"},
    )
    profile = _named("memory-node-group", 6)
    at.make_role(profile)
    template = at.make_template(
        _named("memory", 7),
        {
            **data,
            "ImageId": at.find_image(),
            "InstanceType": "r6i.2xlarge",
            "IamInstanceProfile": {"Name": profile},
            "UserData": encode_node_config(cluster),
            "TagSpecifications": [{"ResourceType": "instance", "Tags": list_tags({"Name": "memory"})}],
        },
    )
    at.make_scaling_group(
        _named("memory", 8),
        {"Name": "memory", f"kubernetes.io/cluster/{name}": "owned", f"k8s.io/cluster/{name}": "owned"},
        network.private,
        LaunchTemplate={"LaunchTemplateId": template["id"], "Version": template["version"]},
        MinSize=1,
        MaxSize=4,
        DesiredCapacity=1,
    )
    _make_karpenter(at, name)


def _make_karpenter(at: Account, name: str) -> None:
    """Make what the module ``karpenter`` makes: roles of the controller and of the nodes, an entry, an association."""
    eks = at.client("eks")
    controller = at.make_role(_named("KarpenterController", 9), "pods.eks", ())
    node = at.make_role(_named(f"Karpenter-{name}", 10))
    eks.create_access_entry(clusterName=name, principalArn=node, type="EC2_LINUX")
    eks.create_pod_identity_association(
        clusterName=name, namespace="kube-system", serviceAccount="karpenter", roleArn=controller
    )
    at.client("sqs").create_queue(QueueName=f"Karpenter-{name}")


def _named(prefix: str, number: int) -> str:
    return f"{prefix}-{_SUFFIX.format(number)}"
