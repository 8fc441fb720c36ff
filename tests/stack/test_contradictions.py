"""Each contradiction that is rejected before any AWS call: its rule, its key, and what the message says."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multiarch.errors import StackError
from multiarch.rules import Severity
from multiarch.stack.plan import make_plan
from tests.stack.test_network import BY_ZONE
from tests.stack.words import EXISTING_CLUSTER, TODAY, Case, check_contradiction, merged, plan, problems, stack

SPOT = {"capacityType": "spot", "instanceTypes": ["m7g.large", "m6g.large"]}


def web(**change: object) -> dict[str, Any]:
    return {"nodeGroups": {"web": change}}


def only(name: str, **change: object) -> dict[str, Any]:
    return {"nodeGroups": {"web": None, "web-arm": None, name: {"instanceTypes": ["m7i.large"], **change}}}


ROLE = "arn:aws:iam::111122223333:role/shop"


def entry(principal: str = ROLE, **keys: Any) -> dict[str, Any]:
    """Return a stack's change: one entry in ``access.entries``."""
    return {"access": {"entries": {"shop": {"principal": principal, **keys}}}}


def extra(name: str = "external-dns", **keys: Any) -> dict[str, Any]:
    """Return a stack's change: one add-on in ``addons.extra``."""
    return {"addons": {"extra": {name: keys}}}


EFA = {"instanceTypes": ["c7gn.16xlarge"], "efa": True}
GPU_POOL = {
    "nodeGroups": {"web": {"minSize": 2}},
    "autoscaling": {"use": "karpenter", "karpenter": {"nodePools": {"gpu": {"families": ["g5g"]}}}},
}
POOL = {"capacityTypes": ["reserved"], "instanceTypes": ["m7g.large"]}


def reserved(*pools: dict[str, Any]) -> dict[str, Any]:
    """Return a stack's change: Karpenter with a capacity reservation, and these NodePools."""
    named = {f"held{index or ''}": {"cpuLimit": 8, **pool} for index, pool in enumerate(pools)}
    return {
        "nodeGroups": {"web": {"minSize": 2}, "web-arm": {"minSize": 0}},
        "autoscaling": {"use": "karpenter", "karpenter": {"capacityReservations": ["cr-0123"], "nodePools": named}},
    }


def service_accounts(**entries: dict[str, Any]) -> dict[str, Any]:
    """Return a stack's change: entries of ``iam.serviceAccounts`` in the namespace shop, with a policy."""
    settings = {"namespace": "shop", "policies": ["arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"]}
    return {"iam": {"serviceAccounts": {name: {**settings, **keys} for name, keys in entries.items()}}}


CASES: list[Case] = [
    ("mixed-architectures", web(instanceTypes=["m7g.large", "m7i.large"]), "nodeGroups.web.instanceTypes",
     "m7g.large is arm64 and m7i.large is amd64; a node group has one architecture."),
    ("unknown-rule", {"acknowledge": {"ami-not-pined": "x"}}, "acknowledge.ami-not-pined",
     "There is no rule ami-not-pined."),
    ("acknowledged-error", {"acknowledge": {"mixed-architectures": "x"}}, "acknowledge.mixed-architectures",
     "mixed-architectures is an error; only warnings can be acknowledged."),
    ("unused-acknowledgement", {"acknowledge": {"open-to-all": "x"}}, "acknowledge.open-to-all",
     "open-to-all does not warn of anything here."),
    ("unknown-instance-type", web(instanceTypes=["m7g.larg"]), "nodeGroups.web.instanceTypes[0]", "m7g.large"),
    ("not-an-eks-type", web(instanceTypes=["mac2.metal"]), "nodeGroups.web.instanceTypes[0]", "mac"),
    ("ami-type-architecture", web(amiType="AL2023_ARM_64_STANDARD"), "nodeGroups.web.amiType",
     "is arm64 and m7i.large is amd64"),
    ("unknown-ami-type", web(amiType="AL2023_ARM64_STANDARD"), "nodeGroups.web.amiType", "AL2023_ARM_64_STANDARD"),
    ("unsupported-ami-type", web(amiType="CUSTOM"), "nodeGroups.web.amiType", "ami.id"),
    ("ami-family-mismatch", web(amiType="BOTTLEROCKET_x86_64", amiFamily="AL2023"), "nodeGroups.web.amiType",
     "Leave one of them out"),
    ("ami-type-accelerator", web(instanceTypes=["g6.xlarge"], amiType="AL2023_x86_64_STANDARD"),
     "nodeGroups.web.amiType", "is for accelerator none"),
    ("mixed-accelerators", web(instanceTypes=["m7i.large", "g6.xlarge"]), "nodeGroups.web.instanceTypes", "g6.xlarge"),
    ("no-such-image", web(instanceTypes=["g5g.xlarge"], amiFamily="AL2") | {"kubernetesVersion": "1.32"},
     "nodeGroups.web.instanceTypes", "AL2"),
    ("image-does-not-boot", web(instanceTypes=["a1.large"]), "nodeGroups.web.instanceTypes", "Graviton"),
    ("no-driver-image", web(instanceTypes=["f2.6xlarge"]), "nodeGroups.web.instanceTypes", "drivers"),
    ("al2-too-new", web(amiFamily="AL2") | {"kubernetesVersion": "1.33"}, "nodeGroups.web.amiFamily",
     "1.32 is the last"),
    ("al2-ended", web(amiFamily="AL2") | {"kubernetesVersion": "1.32"}, "nodeGroups.web.amiFamily", "2025-11-26"),
    ("kubernetes-unsupported", {"kubernetesVersion": "1.30"}, "kubernetesVersion", "2026-07-23"),
    ("kubernetes-extended", {"kubernetesVersion": "1.33"}, "kubernetesVersion", "2027-07-29"),
    ("kubernetes-ends-soon", {"kubernetesVersion": "1.34"}, "kubernetesVersion", "2026-12-02"),
    ("upgrade-policy", {"kubernetesVersion": "1.33", "upgradePolicy": "STANDARD"}, "kubernetesVersion",
     "1.33 is in extended support"),
    ("upgrade-policy-soon", {"kubernetesVersion": "1.34", "upgradePolicy": "STANDARD"}, "kubernetesVersion",
     "ends on 2026-12-02; then EKS upgrades the cluster"),
    ("required-tag", {"requiredTags": ["owner", "tier", "data-class"], "tags": {"tier": "1"}}, "tags",
     "the tags lack data-class,"),
    ("role-name", {"iam": {"roles": {"karpenter": ROLE}}}, "iam.roles.karpenter", "the stack has no role karpenter"),
    ("role-own", {"iam": {"roles": {"managed-nodes": f"{ROLE}/shop-dev-managed-nodes-2026"}}},
     "iam.roles.managed-nodes", "detach"),
    ("role-shared",
     {"nodeGroups": {"own": {"instanceTypes": ["m7i.large"], "kind": "self-managed"}},
      "iam": {"roles": {"managed-nodes": ROLE, "self-managed-nodes": ROLE}}},
     "iam.roles.self-managed-nodes", "role of managed-nodes too"),
    ("kubernetes-unconfirmed", {"kubernetesVersion": "1.36"}, "kubernetesVersion", "calendar"),
    ("kubernetes-version", {"kubernetesVersion": "1.3"}, "kubernetesVersion", "'1.30'"),
    ("sizes", web(minSize=4, maxSize=3), "nodeGroups.web.minSize", "above maxSize 3"),
    ("spot-single-type", web(capacityType="spot"), "nodeGroups.web.instanceTypes", "several"),
    ("no-spot", web(capacityType="spot", instanceTypes=["m7i.large", "u7i-12tb.224xlarge"]),
     "nodeGroups.web.instanceTypes[1]", "spot"),
    *(("chart-registry", {"charts": {"registry": f"{scheme}{rest}"}}, "charts", "oci://HOST/PATH")
      for scheme, rest in (("https://", "a.example/b"), ("oci://", "a.example/b/"), ("oci://me:word@", "a.example/b"))),
    ("group-name", only("Web"), "nodeGroups.Web", "lower-case"),
    ("group-name", {"clusterName": "shop-" * 16 + "dev", **only("web" * 10)}, f"nodeGroups.{'web' * 10}",
     "125 characters"),
    ("cluster-name", {"clusterName": "shop.dev"}, "clusterName", "shop.dev"),
    ("duplicate-group",
     {"multiArchitectureGroups": {"web": {"instanceTypes": {"amd64": ["m7i.large"], "arm64": ["m7g.large"]}}}},
     "nodeGroups.web", "multiArchitectureGroups.web"),
    ("half-architecture",
     {"multiArchitectureGroups": {"any": {"instanceTypes": {"amd64": ["m7g.large"], "arm64": ["m7g.large"]}}}},
     "multiArchitectureGroups.any.instanceTypes.amd64", "instanceTypes.arm64"),
    ("taint", web(taints=["dedicated=batch:NO_SCHEDULE"]), "nodeGroups.web.taints[0]", "dedicated=batch:NoSchedule"),
    ("duplicate-taint", {"nodeGroups": {"web-arm": {"taints": ["arch=arm64:NoSchedule"]}}},
     "nodeGroups.web-arm.taints[0]", "added automatically"),
    ("managed-taint", {"arm64Taint": "kubernetes.io/arch=arm64:NoSchedule"}, "nodeGroups.web-arm", "self-managed"),
    ("restricted-label", web(labels={"kubernetes.io/arch": "amd64"}), "nodeGroups.web.labels.kubernetes.io/arch",
     "own domain"),
    ("label-value", web(labels={"tier": ""}), "nodeGroups.web.labels.tier", "cannot be empty"),
    ("starts-kubelet", web(bootstrap={"preBootstrap": "#!/bin/bash\n/etc/eks/bootstrap.sh shop-dev\n"}),
     "nodeGroups.web.bootstrap.preBootstrap", "EKS starts"),
    ("user-data", web(bootstrap={"preBootstrap": "echo hello\n" * 2000}), "nodeGroups.web.bootstrap", "16"),
    ("bootstrap-mode", web(bootstrap={"mode": "user-data"}), "nodeGroups.web.bootstrap.mode", "ami.id"),
    ("pre-bootstrap-family", web(bootstrap={"preBootstrap": "true"}, amiFamily="Bottlerocket"),
     "nodeGroups.web.bootstrap.preBootstrap", "Bottlerocket"),
    ("kubelet-own-flag", web(bootstrap={"kubeletExtraArgs": ["--node-labels=a=b"]}),
     "nodeGroups.web.bootstrap.kubeletExtraArgs[0]", "labels"),
    ("not-valid", web(bootstrap={"kubeletExtraArgs": ["v=2"]}), "nodeGroups.web.bootstrap.kubeletExtraArgs[0]",
     "--name"),
    ("kubelet-flags-family", web(bootstrap={"kubeletExtraArgs": ["--v=2"]}, amiFamily="Bottlerocket"),
     "nodeGroups.web.bootstrap.kubeletExtraArgs", "settings"),
    ("al2-managed-kubelet", web(maxPods=20, amiFamily="AL2") | {"kubernetesVersion": "1.32"}, "nodeGroups.web.maxPods",
     "bootstrap.sh"),
    ("max-pods", web(maxPods=100), "nodeGroups.web.maxPods", "29"),
    ("not-valid", web(ami={"id": "ami-xyz"}), "nodeGroups.web.ami.id", "ami-0123456789abcdef0"),
    ("ami-release-version", web(ami={"id": "ami-0123456789abcdef0", "release": "1.34.0-20260715"}),
     "nodeGroups.web.ami.release", "1.35"),
    ("ami-release-alone", web(ami={"release": "1.35.0-20260715"}), "nodeGroups.web.ami", "stack pin"),
    ("ami-release", web(ami={"id": "ami-0123456789abcdef0", "release": "latest"}), "nodeGroups.web.ami.release",
     "latest"),
    ("release-self-managed", web(kind="self-managed", ami={"release": "1.35.0-20260715"}), "nodeGroups.web.ami.release",
     "ami.id"),
    ("ami-not-pinned", {}, "nodeGroups.web, nodeGroups.web-arm", "stack pin"),
    ("update-limits", web(updateStrategy={"maxUnavailable": 1, "maxUnavailablePercentage": 10}),
     "nodeGroups.web.updateStrategy", "Keep one"),
    ("update-force", web(kind="self-managed", updateStrategy={"force": True}), "nodeGroups.web.updateStrategy.force",
     "managed"),
    ("zones-unknown", web(zones=["eu-west-1a"]), "nodeGroups.web.zones", "network.zones"),
    ("zone-not-in-network", web(zones=["eu-west-1c"]) | {"network": {"zones": ["eu-west-1a", "eu-west-1b"]}},
     "nodeGroups.web.zones[0]", "eu-west-1a, eu-west-1b"),
    ("controller-has-no-node", only("batch", taints=["dedicated=batch:NoSchedule"]), "nodeGroups.batch", "coredns"),
    ("coredns-waits", only("web", minSize=0), "nodeGroups.web", "autoscaler"),
    ("no-node-groups", {"nodeGroups": {"web": None, "web-arm": None}}, "nodeGroups", "Add one"),
    ("overlapping-cidrs", {"network": {"cidr": "172.20.0.0/16"}}, "network.cidr", "172.20.0.0/16"),
    ("overlapping-cidrs", {"network": {"podCidr": "10.0.128.0/20"}}, "network.podCidr", "10.0.0.0/16"),
    ("cidr-size", {"network": {"podCidr": "100.64.0.0/26"}}, "network.podCidr", "/16 to /25"),
    ("secondary-cidr", {"network": {"podCidr": "172.16.0.0/16"}}, "network.podCidr", "100.64.0.0/16"),
    ("ipv6", {"network": {"podCidr": "100.64.0.0/16", "ipFamily": "ipv6"}}, "network.podCidr", "Omit podCidr"),
    ("ipv6", web(instanceTypes=["m4.large"]) | {"network": {"ipFamily": "ipv6"}}, "nodeGroups.web.instanceTypes",
     "m4.large can't have IPv6 prefixes"),
    ("ipv6",
     {"network": {"ipFamily": "ipv6"}, "nodeGroups": {"web": {"minSize": 2}},
      "autoscaling": {"use": "karpenter", "karpenter": {"nodePools": {"old": {"families": ["m4"]}}}}},
     "autoscaling.karpenter.nodePools.old", "m4.16xlarge"),
    ("custom-networking", {"network": {"podCidr": "100.64.0.0/16"}, "addons": {"vpcCni": {"enabled": False}}},
     "network.podCidr", "addons.vpcCni is off"),
    ("pod-subnets", {"network": {**BY_ZONE, "podSubnets": {"eu-west-1a": "subnet-00000008"}}}, "network.podSubnets",
     "eu-west-1b must be in both"),
    ("pod-subnets",
     {"network": {**BY_ZONE, "podSubnets": {"eu-west-1a": "subnet-00000001", "eu-west-1b": "subnet-00000009"}}},
     "network.podSubnets.eu-west-1a", "a subnet of nodes"),
    ("subnets-too-small", {"network": {"cidr": "10.0.0.0/22"}, "nodeGroups": {"web": {"maxSize": 40}}}, "network.cidr",
     "maxSize"),
    ("cidr", {"network": {"cidr": "10.0.0.1/16"}}, "network.cidr", "10.0.0.0/16"),
    ("cidr", {"apiEndpoint": {"public": True, "publicCidrs": ["198.51.100.7"]}}, "apiEndpoint.publicCidrs[0]",
     "198.51.100.7/32"),
    ("cidr-size", {"network": {"cidr": "10.0.0.0/8"}}, "network.cidr", "/16 to /22"),
    ("public-cidr", {"network": {"cidr": "20.0.0.0/16"}}, "network.cidr", "private"),
    ("service-cidr", {"network": {"serviceCidr": "100.64.0.0/16"}}, "network.serviceCidr", "EKS takes"),
    ("no-way-out", {"network": {"nat": "none", "endpoints": ["ecr", "s3"]}}, "network.endpoints", "ssm"),
    ("zone", {"network": {"zones": ["eu-west-1a", "us-east-1b"]}}, "network.zones[1]", "eu-west-1"),
    ("zones-not-named", {"environment": "prod"}, "network.zones", "List them"),
    ("storage-class-unreachable", {"storageClass": True}, "storageClass", "new"),
    ("existing-network", {"network": {"vpcId": "vpc-0123456789abcdef0", "cidr": "10.0.0.0/16"}}, "network.cidr",
     "existing"),
    ("vpc-id", {"network": {"privateSubnetIds": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]}},
     "network.vpcId", "missing"),
    ("subnets", {"network": {"vpcId": "vpc-0123456789abcdef0"}}, "network.privateSubnetIds", "two"),
    ("subnets", {"network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": ["subnet-00000001"],
                             "privateSubnets": {"eu-west-1a": ["subnet-00000001"], "eu-west-1b": ["subnet-00000002"]}}},
     "network.privateSubnets", "mutually exclusive"),
    ("prod-unprotected", {"environment": "prod", "deletionProtection": False}, "deletionProtection",
     "protected by default"),
    ("endpoint-not-private", {"apiEndpoint": {"private": False, "public": True, "publicCidrs": ["203.0.113.0/24"]}},
     "apiEndpoint.private", "Leave private on"),
    ("public-without-cidrs", {"apiEndpoint": {"public": True}}, "apiEndpoint.public", "every address"),
    ("cidrs-without-public", {"apiEndpoint": {"publicCidrs": ["203.0.113.0/24"]}}, "apiEndpoint.publicCidrs",
     "no effect"),
    ("open-to-all", {"apiEndpoint": {"public": True, "publicCidrs": ["0.0.0.0/0"]}}, "apiEndpoint.publicCidrs[0]",
     "internet"),
    ("principal", {"access": {"admins": ["arn:aws:iam::111122223333:role/AWSReservedSSO_Admin_0123"]}},
     "access.admins[0]", "get-role --role-name AWSReservedSSO_Admin_0123 "),
    ("principal", {"access": {"readers": ["admin"]}}, "access.readers[0]", "ARN"),
    ("principal-twice",
     {"access": {"admins": ["arn:aws:iam::111122223333:role/a"], "readers": ["arn:aws:iam::111122223333:role/a"]}},
     "access.readers[0]", "already in access.admins[0]"),
    ("access-entry-empty", entry(), "access.entries.shop", "permits nothing"),
    ("access-group", entry(groups=["shop", "system:masters"]), "access.entries.shop.groups[1]", "EKS rejects"),
    ("not-valid", {"secretsEncryption": {"kmsKeyArn": "alias/mine"}}, "secretsEncryption.kmsKeyArn", "arn:aws:kms"),
    ("key-without-encryption",
     {"secretsEncryption": {"enabled": False, "kmsKeyArn": "arn:aws:kms:eu-west-1:111122223333:key/1"}},
     "secretsEncryption.kmsKeyArn", "off"),
    ("no-vpc-cni", {"addons": {"vpcCni": {"enabled": False}}}, "addons.vpcCni.enabled", "CNI"),
    ("not-valid", {"addons": {"coredns": {"version": "latest"}}}, "addons.coredns.version", "eksbuild"),
    ("addon-unknown", {"addons": {"extra": {"metric-server": {}}}}, "addons.extra.metric-server",
     "nothing is known here"),
    ("addon-own-key", {"addons": {"extra": {"coredns": {}}}}, "addons.extra.coredns", "coredns has a key of its own"),
    ("addon-configuration", extra(configurationValues={"tolerations": [{"operator": "Is"}]}),
     "addons.extra.external-dns.configurationValues.tolerations", "'Is' is not an operator"),
    ("addon-not-checked", extra(configurationValues={"policy": "sync"}, version="v0.19.0-eksbuild.1"),
     "addons.extra.external-dns.configurationValues", "AWS's schema of v0.19.0-eksbuild.1 was not fetched"),
    ("addon-before-nodes", extra(beforeNodes=True), "addons.extra.external-dns.beforeNodes", "wait for a node"),
    ("addon-service-account", extra("adot", policies=["arn:aws:iam::aws:policy/CloudWatchAgentServerPolicy"]),
     "addons.extra.adot", "are unknown"),
    ("addon-pod-identity", extra("aws-efs-csi-driver", version="v2.0.4-eksbuild.1"),
     "addons.extra.aws-efs-csi-driver.version", "from v2.0.5 on"),
    ("pod-identity-agent", merged(extra("aws-efs-csi-driver"), {"addons": {"podIdentityAgent": {"enabled": False}}}),
     "addons.podIdentityAgent.enabled", "aws-ebs-csi-driver, aws-efs-csi-driver would get no IAM role"),
    ("addon-without-policies", extra(), "addons.extra.external-dns", "no permissions"),
    ("controller-has-no-node", {**extra("aws-mountpoint-s3-csi-driver", policies=[]), "nodeGroups": {"web": None}},
     "nodeGroups.web-arm", "aws-mountpoint-s3-csi-driver does not tolerate arch=arm64:NoSchedule"),
    ("storage-class", {"storageClass": True, "addons": {"ebsCsi": {"enabled": False}}}, "storageClass", "EBS CSI"),
    ("service-account-twice", service_accounts(orders={}, more={"name": "orders"}), "iam.serviceAccounts.orders",
     "shop/orders has the role of iam.serviceAccounts.more already"),
    ("workload-name", service_accounts(Orders={}), "iam.serviceAccounts.Orders", "'Orders' is rejected"),
    ("workload-name", {"fargateProfiles": {"eks-a": {"selectors": [{"namespace": "jobs-*"}]}}}, "fargateProfiles.eks-a",
     "begins with 'eks-'"),
    ("service-account-existing-role",
     merged(service_accounts(orders={}), {"iam": {"roles": {"orders-pods": "arn:aws:iam::111122223333:role/orders"}}}),
     "iam.serviceAccounts.orders", "iam.roles.orders-pods is a role that exists"),
    ("fargate-pod-identity", {"fargateProfiles": {"all": {"selectors": [{"namespace": "kube-*"}]}}},
     "fargateProfiles.all.selectors[0]", "pods of kube-system/ebs-csi-controller-sa get no IAM role"),
    ("service-account-without-policies", service_accounts(orders={"policies": []}), "iam.serviceAccounts.orders",
     "no policy"),
    ("pod-identity-agent",
     merged(service_accounts(orders={}), {"addons": {"podIdentityAgent": {"enabled": False}}}),
     "addons.podIdentityAgent.enabled", "shop/orders would get no IAM role"),
    ("own-tag", {"tags": {"team": "x"}}, "tags.team", "written by the plan"),
    ("tag", {"tags": {"aws:x": "y"}}, "tags.aws:x", "aws:"),
    ("label-key", web(labels={"a b": "x"}), "nodeGroups.web.labels.a b", "example.com/tier"),
    ("documentation-cidr", {"apiEndpoint": {"public": True, "publicCidrs": ["203.0.113.0/24"]}},
     "apiEndpoint.publicCidrs[0]", "documentation"),
    ("not-valid", {"network": {"vpcId": "vpc-0123456789abcdef0", "privateSubnetIds": ["a", "b"]}},
     "network.privateSubnetIds[0], network.privateSubnetIds[1]", "subnet-0123456789abcdef0"),
    ("not-drained", web(kind="self-managed"), "nodeGroups.web", "the first run can't install"),
    ("not-drained", web(kind="self-managed") | {"nodeTerminationHandler": False}, "nodeTerminationHandler", "is off"),
    ("termination-handler", {"nodeTerminationHandler": True}, "nodeTerminationHandler", "no self-managed group"),
    ("termination-handler-unreachable", web(kind="self-managed") | {"nodeTerminationHandler": True},
     "nodeTerminationHandler", "the first run"),
    ("no-device-plugin", web(instanceTypes=["g6.xlarge"]), "nodeGroups.web.instanceTypes", "no nvidia.com/gpu"),
    ("no-device-plugin", {**EXISTING_CLUSTER, **web(instanceTypes=["g6.xlarge"])}, "nodeGroups.web.instanceTypes",
     "is not known"),
    ("device-plugin",
     {**GPU_POOL, "gpuDevicePlugin": True, **web(minSize=2, instanceTypes=["g6.xlarge"], amiFamily="Bottlerocket")},
     "gpuDevicePlugin", "run it twice"),
    ("no-device-plugin", web(**EFA), "nodeGroups.web.efa", "no vpc.amazonaws.com/efa"),
    *(("efa", web(**{**EFA, **words}), "nodeGroups.web.efa", says) for words, says in (
        ({"instanceTypes": ["m7i.large"]}, "m7i.large has no EFA"),
        ({"instanceTypes": ["dl1.24xlarge"]}, "not known"),
        ({"instanceTypes": ["c8gn.16xlarge", "c8gn.48xlarge"]}, "differ in their network cards"),
    )),
    ("efa", merged(web(**EFA, amiFamily="AL2"), {"kubernetesVersion": "1.32"}), "nodeGroups.web.efa", "AL2"),
    ("efa-zones", web(**EFA), "nodeGroups.web.efa", "several zones"),
    ("efa-security-group", {**EXISTING_CLUSTER, **web(**EFA)}, "nodeGroups.web.efa", "not known"),
    ("device-plugin", {**EXISTING_CLUSTER, "gpuDevicePlugin": True, **web(instanceTypes=["g6.xlarge"])},
     "gpuDevicePlugin", "GPU nodes of others"),
    ("device-plugin",
     web(instanceTypes=["g6.xlarge"]) | {"gpuDevicePlugin": True, "network": {"nat": "none", "endpoints": ["s3"]}},
     "gpuDevicePlugin", "nvcr.io"),
    ("device-plugin-unreachable", web(instanceTypes=["g6.xlarge"]) | {"gpuDevicePlugin": True}, "gpuDevicePlugin",
     "the first run"),
    *(("capacity-reservation", web(**{"capacityReservation": "cr-0123", **words}), "nodeGroups.web.capacityReservation",
       says) for words, says in (
        ({"capacityReservation": "cr_1"}, "neither a reservation"),
        (SPOT, "spot instances"),
        ({"instanceTypes": ["m7i.large", "m6i.large"], "zones": ["eu-west-1a"]}, "of one instance type"),
        ({}, "is in one zone"),
        ({"zones": ["eu-west-1a", "eu-west-1b"], "onePerZone": True}, "is in one zone"),
    )),
    ("instances-distribution", web(capacityType="spot", instancesDistribution={"onDemandBaseCapacity": 1}),
     "nodeGroups.web.instancesDistribution", "managed group"),
    ("instances-distribution", web(kind="self-managed", instancesDistribution={}),
     "nodeGroups.web.instancesDistribution", "on-demand group"),
    ("reserved-pool", reserved({}), "autoscaling.karpenter.capacityReservations", "no pool"),
    ("reserved-pool", merged(reserved(POOL), {"autoscaling": {"karpenter": {"capacityReservations": []}}}),
     "autoscaling.karpenter.nodePools.held.capacityTypes", "is empty"),
    ("reserved-pool", reserved(*20 * [{**POOL, "capacityTypes": ["reserved", "spot", "on-demand"]}]),
     "autoscaling.karpenter.capacityReservations", "120 NodePools"),
    ("driver-too-old", web(instanceTypes=["g7.2xlarge"]), "nodeGroups.web.instanceTypes", "NVIDIA driver 595"),
    ("driver-too-old", web(**EFA, ami={"release": "1.35.0-20260224"}), "nodeGroups.web.instanceTypes",
     "since release 20260505"),
    ("no-room-for-pods", web(instanceTypes=["t4g.nano"]), "nodeGroups.web.instanceTypes", "takes 4 pods"),
    ("imds-hop-limit", web(imdsHopLimit=2), "nodeGroups.web.imdsHopLimit", "role of their node"),
    ("insecure-kubelet-flag", web(bootstrap={"kubeletExtraArgs": ["--v=2", "--anonymous-auth=true"]}),
     "nodeGroups.web.bootstrap.kubeletExtraArgs[1]", "anyone who reaches"),
    ("zones-unknown", web(onePerZone=True), "nodeGroups.web.onePerZone", "network.zones"),
    ("duplicate-group", {"network": {"zones": ["eu-west-1a", "eu-west-1b"]},
                         "nodeGroups": {"web": {"onePerZone": True}, "web-b": {"instanceTypes": ["m7i.large"]}}},
     "nodeGroups.web-b", "nodeGroups.web also makes a group web-b"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_contradiction_is_named_with_its_key_and_the_fix(case: Case) -> None:
    check_contradiction(*case)


def test_the_smallest_stack_is_accepted_with_nothing_but_the_unpinned_images() -> None:
    assert {p.rule for p in plan().warnings} == {"ami-not-pinned"}


def test_all_problems_of_a_stack_are_found_at_once() -> None:
    change = {"kubernetesVersion": "1.30", "network": {"cidr": "10.0.0.1/16"}} | web(instanceTypes=["m7g.larg"])
    rules = {p.rule for p in problems(change) if p.severity is Severity.ERROR}
    assert rules == {"kubernetes-unsupported", "cidr", "unknown-instance-type"}


@pytest.mark.parametrize("environment", ["prod", "production", "live"])
def test_production_is_protected_unless_it_says_otherwise(environment: str) -> None:
    assert plan({"environment": environment}).own_cluster.deletion_protection
    assert not plan({"environment": environment, "deletionProtection": False}).own_cluster.deletion_protection
    assert not plan().own_cluster.deletion_protection


def test_support_dates_are_those_of_the_day_that_is_asked_about() -> None:
    assert "kubernetes-extended" not in {
        p.rule for p in problems({"kubernetesVersion": "1.33"}, today=date(2026, 5, 1))
    }
    assert "kubernetes-extended" in {p.rule for p in problems({"kubernetesVersion": "1.33"}, today=TODAY)}


def test_a_version_that_ended_is_not_its_own_fix() -> None:
    change = {"kubernetesVersion": "1.35"}
    (found,) = [p for p in problems(change, today=date(2028, 4, 1)) if p.rule == "kubernetes-unsupported"]
    assert found.message == "EKS support for Kubernetes 1.35 ended on 2028-03-27."
    assert found.hint.endswith("upgrade multiarch.")


def test_coredns_finds_a_node_in_a_cluster_of_arm64_groups_alone() -> None:
    arm_only = {"nodeGroups": {"web": None}}
    rules = {p.rule for p in problems(arm_only)}
    assert "controller-has-no-node" not in rules
    coredns = next(a for a in plan(arm_only).addons if a.name == "coredns")
    assert '"key": "arch"' in coredns.configuration


def test_an_image_that_is_about_to_be_pinned_is_not_rejected_for_its_driver() -> None:
    g7 = web(instanceTypes=["g7.2xlarge"])
    assert make_plan(stack(g7), today=TODAY, pinning=True).node_groups[0].ami_type.name == "AL2023_x86_64_NVIDIA"
    with pytest.raises(StackError, match="NVIDIA driver 595"):
        make_plan(stack(g7), today=TODAY)
