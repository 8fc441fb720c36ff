"""EKS clusters: CreateCluster including what moto ignores, versions, updates, tags.

Upstream: Amazon EKS API reference, CreateCluster, UpdateClusterConfig, UpdateClusterVersion, DeleteCluster.
"""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import camelcase_to_underscores
from moto.eks.models import Cluster

from sandbox.aws import cluster_api
from sandbox.aws.eks_base import EksBase, Record, extras, in_use, invalid, not_found, rejected, short_hash, without_none
from sandbox.aws.facts import CLUSTER_VERSIONS, DEFAULT_VERSION, minor_number

_ZONES = 2
_LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_VPC_DEFAULTS: Record = {
    "endpointPublicAccess": True,
    "endpointPrivateAccess": False,
    "publicAccessCidrs": ["0.0.0.0/0"],
    "securityGroupIds": [],
}
_NETWORK_DEFAULTS: Record = {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4"}
_NETWORK_IPV6: Record = {"serviceIpv6Cidr": "fd30:1c53:5f8a::/108"}
_AUTO_MODE = frozenset(("computeConfig", "kubernetesNetworkConfig", "storageConfig"))
_PLAIN_CONFIG = (
    "access_config",
    "control_plane_scaling_config",
    "deletion_protection",
    "upgrade_policy",
    "zonal_shift_config",
)


class EksClusters(EksBase):
    """Cluster operations. Endpoint, issuer and certificate are made from the cluster's ARN."""

    def create_cluster(self) -> ActionResult:
        """Answer CreateCluster: the cluster is ACTIVE at once, with a cluster security group in its VPC."""
        params = self.params
        version = params.get("version") or DEFAULT_VERSION
        if version not in CLUSTER_VERSIONS:
            raise invalid(f"unsupported Kubernetes version {version}")
        if params["name"] in self.backend.clusters:
            raise in_use(f"Cluster already exists with name: {params['name']}")
        _check_auto_mode(params)
        vpc = {**_VPC_DEFAULTS, **params["resourcesVpcConfig"]}
        vpc["vpcId"] = self._vpc_of(vpc.get("subnetIds") or [])
        cluster = self.backend.create_cluster(
            name=params["name"],
            version=version,
            role_arn=params["roleArn"],
            resources_vpc_config=vpc,
            kubernetes_network_config=self._network_of(params),
            logging=_logging(params.get("logging")),
            client_request_token=params.get("clientRequestToken"),
            tags=dict(params.get("tags") or {}),
            encryption_config=params.get("encryptionConfig"),
        )
        vpc["clusterSecurityGroupId"] = self._cluster_security_group(cluster, vpc["vpcId"])
        self._complete(cluster, params)
        return ActionResult({"cluster": cluster})

    def _network_of(self, params: Record) -> Record:
        """Return the addresses of Services; with IPv6 EKS chooses them, and needs subnets that have IPv6 ones."""
        wanted = without_none(params.get("kubernetesNetworkConfig") or {})
        if wanted.get("ipFamily") != "ipv6":
            return {**_NETWORK_DEFAULTS, **wanted}
        if "serviceIpv4Cidr" in wanted:
            raise invalid("serviceIpv4Cidr cannot be specified for a cluster with the IPv6 family")
        for subnet in self.ec2.describe_subnets(params["resourcesVpcConfig"]["subnetIds"]):
            if not subnet.ipv6_cidr_block_associations:
                raise invalid(f"Subnet {subnet.id} does not have an IPv6 CIDR block")
        return {**_NETWORK_IPV6, **wanted}

    def _vpc_of(self, subnet_ids: list[str]) -> str:
        subnets = self.ec2.describe_subnets(subnet_ids)
        if len(subnet_ids) < _ZONES or len({subnet.availability_zone for subnet in subnets}) < _ZONES:
            raise invalid("Subnets specified must be in at least two different AZs")
        return str(subnets[0].vpc_id)

    def _cluster_security_group(self, cluster: Cluster, vpc_id: str) -> str:
        group = self.ec2.create_security_group(
            name=f"eks-cluster-sg-{cluster.name}-{short_hash(cluster.arn + vpc_id, 8)}",
            description="EKS created security group applied to ENI that is attached to EKS Control Plane master nodes",
            vpc_id=vpc_id,
            tags={"aws:eks:cluster-name": cluster.name, f"kubernetes.io/cluster/{cluster.name}": "owned"},
        )
        return str(group.id)

    def _complete(self, cluster: Cluster, params: Record) -> None:
        digest = short_hash(cluster.arn).upper()
        access = {"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True}
        server = f"{self.parsed_url.scheme}://{self.parsed_url.netloc}"
        vars(cluster).update(
            identity={"oidc": {"issuer": f"https://oidc.eks.{self.region}.amazonaws.com/id/{digest}"}},
            endpoint=cluster_api.API.endpoint or f"{server}{cluster_api.PATH}/{digest}",
            certificate_authority={"data": cluster_api.API.authority or cluster_api.make_authority(cluster.name)},
            platformVersion="eks.1",
            health={"issues": []},
            access_config={**access, **(params.get("accessConfig") or {})},
            upgrade_policy={"supportType": "EXTENDED", **(params.get("upgradePolicy") or {})},
            control_plane_scaling_config={"tier": "standard", **(params.get("controlPlaneScalingConfig") or {})},
            deletion_protection=bool(params.get("deletionProtection")),
            # Not reported before it was set: else the provider, in which it is not computed, would show a change.
            zonal_shift_config=params.get("zonalShiftConfig"),
            compute_config=params.get("computeConfig") or {"enabled": False},
            storage_config=params.get("storageConfig") or {"blockStorage": {"enabled": False}},
        )
        if params.get("bootstrapSelfManagedAddons") is False:
            vars(cluster)["bootstrap_self_managed_addons"] = False

    def delete_cluster(self) -> ActionResult:
        """Answer DeleteCluster: rejected with deletion protection, and while node groups are left."""
        cluster = self._cluster()
        if vars(cluster).get("deletion_protection"):
            raise rejected(
                f"Cluster {cluster.name} has deletion protection enabled. Disable it before deleting the cluster."
            )
        deleted = self.backend.delete_cluster(cluster.name)
        self.ec2.delete_security_group(group_id=deleted.resources_vpc_config["clusterSecurityGroupId"])
        vars(deleted)["status"] = "DELETING"
        return ActionResult({"cluster": deleted})

    def update_cluster_config(self) -> ActionResult:
        """Answer UpdateClusterConfig: one kind of change per call, as EKS requires; those of Auto Mode are one kind."""
        cluster, params = self._cluster(), self.params
        kinds = [key for key in params if key not in ("name", "clientRequestToken") and params[key] is not None]
        if _AUTO_MODE.intersection(kinds) and set(kinds) <= _AUTO_MODE:
            _check_auto_mode(params)
            network = {**cluster.kubernetes_network_config, **(params.get("kubernetesNetworkConfig") or {})}
            vars(cluster).update(
                compute_config=params["computeConfig"],
                storage_config=params["storageConfig"],
                kubernetes_network_config=network,
            )
            return self._update("AutoModeUpdate", {key: params[key] for key in kinds})
        if len(kinds) != 1:
            raise invalid(
                "Exactly one type of update can be allowed per UpdateClusterConfig call: " + ", ".join(sorted(kinds))
            )
        key = kinds[0]
        attribute = camelcase_to_underscores(key)
        if key == "resourcesVpcConfig":
            new: Any = {**cluster.resources_vpc_config, **params[key]}
        elif key == "logging":
            new = _logging(params[key], cluster.logging)
        elif attribute in _PLAIN_CONFIG:
            old = vars(cluster).get(attribute)
            new = {**old, **params[key]} if isinstance(old, dict) else params[key]
        else:
            raise invalid(f"the sandbox's EKS does not update {key}")
        vars(cluster)[attribute] = new
        return self._update("ConfigUpdate", {key: params[key]})

    def update_cluster_version(self) -> ActionResult:
        """Answer UpdateClusterVersion: one minor at a time, never back."""
        cluster, wanted = self._cluster(), self.params["version"]
        if wanted not in CLUSTER_VERSIONS or minor_number(wanted) != minor_number(cluster.version) + 1:
            raise invalid(f"Unsupported Kubernetes minor version update from {cluster.version} to {wanted}")
        cluster.version = wanted
        return self._update("VersionUpdate", {"Version": wanted})

    def associate_encryption_config(self) -> ActionResult:
        """Answer AssociateEncryptionConfig: once per cluster; it can't be removed."""
        cluster = self._cluster()
        if cluster.encryption_config:
            raise rejected(f"Cluster {cluster.name} already has encryption configuration")
        cluster.encryption_config = self.params["encryptionConfig"]
        return self._update("AssociateEncryptionConfig", {"EncryptionConfig": cluster.encryption_config})

    def describe_cluster_versions(self) -> ActionResult:
        """Answer DescribeClusterVersions: all are in standard support. Upstream: EKS API reference, of that name."""
        wanted = self.params.get("clusterVersions") or CLUSTER_VERSIONS
        rows = [
            {"clusterVersion": each, "defaultVersion": each == DEFAULT_VERSION, "versionStatus": "STANDARD_SUPPORT"}
            for each in CLUSTER_VERSIONS
            if each in wanted
        ]
        return ActionResult({"clusterVersions": rows})

    def tag_resource(self) -> ActionResult:
        """Answer TagResource of a cluster, node group, add-on, access entry or pod identity association."""
        self._tags_of(self._extract_arn_from_path()).update(self.params["tags"])
        return EmptyResult()

    def untag_resource(self) -> ActionResult:
        """Answer UntagResource; missing keys are ignored."""
        tags = self._tags_of(self._extract_arn_from_path())
        for key in self.params["tagKeys"]:
            tags.pop(key, None)
        return EmptyResult()

    def list_tags_for_resource(self) -> ActionResult:
        """Answer ListTagsForResource."""
        return ActionResult({"tags": self._tags_of(self._extract_arn_from_path())})

    def _tags_of(self, arn: str) -> dict[str, str]:
        for cluster in self.backend.clusters.values():
            more = extras(cluster)
            holders: list[tuple[str, dict[str, str]]] = [(cluster.arn, cluster.tags)]
            holders += [(group.arn, group.tags) for group in cluster.nodegroups.values()]
            holders += [(addon["addonArn"], addon["tags"]) for addon in more.addons.values()]
            holders += [(entry["accessEntryArn"], entry["tags"]) for entry in more.entries.values()]
            holders += [(pod["associationArn"], pod["tags"]) for pod in more.pod_identities.values()]
            for holder, tags in holders:
                if holder == arn:
                    return tags
        raise not_found(f"Resource was not found: {arn}")


def _check_auto_mode(params: Record) -> None:
    """Reject Auto Mode in part, or with NodePools without a role for their nodes, or without access entries.

    Upstream: EKS user guide, "Enable EKS Auto Mode on an existing cluster" (all three in one request).
    """
    compute = params.get("computeConfig") or {}
    parts = (
        compute.get("enabled"),
        ((params.get("kubernetesNetworkConfig") or {}).get("elasticLoadBalancing") or {}).get("enabled"),
        ((params.get("storageConfig") or {}).get("blockStorage") or {}).get("enabled"),
    )
    if len({bool(each) for each in parts}) != 1:
        raise invalid(
            "For EKS Auto Mode, please ensure that all required configs are all either fully enabled or fully disabled."
        )
    if bool(compute.get("nodePools")) != bool(compute.get("nodeRoleArn")):
        raise invalid("When Compute Config nodeRoleArn is not null or empty, nodePool value(s) must be provided.")
    if compute.get("enabled") and (params.get("accessConfig") or {}).get("authenticationMode", "API") == "CONFIG_MAP":
        raise invalid("EKS Auto Mode requires the authentication mode API or API_AND_CONFIG_MAP")


def _logging(wanted: Record | None, current: Record | None = None) -> Record:
    """Return EKS's answer: one row with the types that are on, one with those that are off."""
    on = {kind for row in (current or {}).get("clusterLogging", []) if row.get("enabled") for kind in row["types"]}
    for row in (wanted or {}).get("clusterLogging", []):
        kinds = set(row.get("types") or [])
        on = on | kinds if row.get("enabled") else on - kinds
    rows = [
        {"types": [kind for kind in _LOG_TYPES if (kind in on) == enabled], "enabled": enabled}
        for enabled in (True, False)
    ]
    return {"clusterLogging": [row for row in rows if row["types"]]}
