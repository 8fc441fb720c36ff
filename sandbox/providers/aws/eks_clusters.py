"""EKS clusters."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.eks_access import tags_by
from sandbox.providers.aws.rows import Call, Name, Update, operations, sends, simple
from sandbox.providers.values import Record

_CLUSTER: Final = operations(
    "eks",
    "cluster",
    {"name": "{id}"},
    "{name}",
    "cluster",
    live={"accessConfig": "accessConfig", "certificateAuthority": "certificateAuthority"},
)
_PARTS: Final = (
    *("accessConfig", "controlPlaneScalingConfig", "deletionProtection", "upgradePolicy", "zonalShiftConfig"),
)
"""Inputs that UpdateClusterConfig takes one at a time."""


def _create_cluster(call: Call) -> str:
    special = {
        "resourcesVpcConfig": call["vpcConfig"],
        "encryptionConfig": _encryption(call),
        "logging": _logging(call),
    }
    return _CLUSTER.make(call, {**special, "vpcConfig": None, "enabledClusterLogTypes": None})


def _encryption(call: Call) -> list[Record] | None:
    return [call["encryptionConfig"]] if call["encryptionConfig"] else None


def _logging(call: Call) -> Record | None:
    """Return types that are on, and on a change those that go off."""
    on, before = call["enabledClusterLogTypes"] or [], call.olds.get("enabledClusterLogTypes") or []
    rows = [{"types": sorted(on), "enabled": True}, {"types": sorted(set(before) - set(on)), "enabled": False}]
    rows = [row for row in rows if row["types"]]
    return {"clusterLogging": rows} if rows else None


def _show_cluster(call: Call) -> Record | None:
    shown, found = _CLUSTER.show(call), _CLUSTER.find(call)
    if shown is None or found is None:
        return None
    logged = [row["types"] for row in found["logging"]["clusterLogging"] if row["enabled"]]
    return {
        **shown,
        "enabledClusterLogTypes": [kind for types in logged for kind in types],
        "encryptionConfig": (found.get("encryptionConfig") or [None])[0],
        "identities": [{"oidcs": [{"issuer": found["identity"]["oidc"]["issuer"]}]}],
        "vpcConfig": found["resourcesVpcConfig"],
    }


def _update_vpc(call: Call) -> None:
    """EKS changes either the endpoint's access or the subnets and security groups in one call."""
    old, new = call.olds.get("vpcConfig") or {}, call["vpcConfig"]
    for names in (
        ("endpointPrivateAccess", "endpointPublicAccess", "publicAccessCidrs"),
        ("subnetIds", "securityGroupIds"),
    ):
        values = {name: new.get(name) for name in names}
        if any(old.get(name) != value for name, value in values.items()):
            call.do("eks", "update_cluster_config", {"name": call.id, "resourcesVpcConfig": values})


def _update_auto_mode(call: Call) -> None:
    """EKS changes the three parts of Auto Mode in one call (eks/cluster.go, resourceClusterUpdate)."""
    network = {"elasticLoadBalancing": (call["kubernetesNetworkConfig"] or {}).get("elasticLoadBalancing")}
    values = {"kubernetesNetworkConfig": network, **call.pick("computeConfig", "storageConfig")}
    call.do("eks", "update_cluster_config", {"name": call.id, **values})


def _update_encryption(call: Call) -> None:
    """Turn encryption on; another key does nothing, so that the next preview shows it again (resourceClusterUpdate)."""
    if not call.olds.get("encryptionConfig"):
        values = {"clusterName": call.id, "encryptionConfig": _encryption(call)}
        call.do("eks", "associate_encryption_config", values)


ROWS: Final = (
    simple(
        "aws:eks/cluster:Cluster",
        _CLUSTER,
        create=_create_cluster,
        read=_show_cluster,
        source="eks/cluster.go resourceCluster",
        computed=(
            "accessConfig.authenticationMode",
            "controlPlaneScalingConfig.tier",
            "kubernetesNetworkConfig.*",
            "upgradePolicy.*",
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.vpcId",
        ),
        defaults={
            "accessConfig.bootstrapClusterCreatorAdminPermissions": True,
            "bootstrapSelfManagedAddons": True,
            "vpcConfig.endpointPublicAccess": True,
        },
        inputs=(
            "version",
            "roleArn",
            "vpcConfig",
            "accessConfig",
            "deletionProtection",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig",
            "computeConfig",
            "storageConfig",
            "encryptionConfig",
            "enabledClusterLogTypes",
            "upgradePolicy",
            "zonalShiftConfig",
            "controlPlaneScalingConfig",
        ),
        outputs=("vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId", "vpcConfig.publicAccessCidrs"),
        renewed=("platformVersion",),
        updates=(
            Update(("version",), sends("eks", "update_cluster_version", {"name": "{id}"}, "version")),
            Update(("vpcConfig",), _update_vpc),
            Update(
                ("enabledClusterLogTypes",),
                lambda call: call.do("eks", "update_cluster_config", {"name": call.id, "logging": _logging(call)}),
            ),
            *(Update((each,), sends("eks", "update_cluster_config", {"name": "{id}"}, each)) for each in _PARTS),
            Update(("encryptionConfig",), _update_encryption),
            Update(("computeConfig", "kubernetesNetworkConfig", "storageConfig"), _update_auto_mode),
        ),
        forced=("accessConfig.bootstrapClusterCreatorAdminPermissions",),
        # CustomizeDiff replaces where encryption goes off; to turn it on is an update.
        irreversible=("encryptionConfig",),
        tags=tags_by("arn"),
        name=Name(100, prefix=""),
    ),
)
