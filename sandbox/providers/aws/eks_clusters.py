"""EKS clusters."""

from __future__ import annotations

from typing import Final

from sandbox.providers.aws.eks_common import tags_for
from sandbox.providers.aws.rows import Call, Name, Row, Update
from sandbox.providers.values import Record, Value


def _cluster(call: Call) -> Record | None:
    found: Record | None = call.find("eks", "describe_cluster", "cluster", {"name": call.id or call["name"]})
    return found


def _create_cluster(call: Call) -> str:
    values: Record = {
        **call.pick(
            "name",
            "version",
            "roleArn",
            "accessConfig",
            "deletionProtection",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig",
        ),
        "resourcesVpcConfig": call["vpcConfig"],
        "encryptionConfig": _encryption(call),
        "logging": _logging(call),
        "tags": call.tags,
    }
    call.make(
        lambda: call.do("eks", "create_cluster", values),
        "ResourceInUseException",
        lambda: (_cluster(call) or {}).get("tags", {}),
    )
    return str(call["name"])


def _encryption(call: Call) -> list[Record] | None:
    return [call["encryptionConfig"]] if call["encryptionConfig"] else None


def _logging(call: Call) -> Record | None:
    """Types that are on, and on a change those that go off."""
    on, before = call["enabledClusterLogTypes"] or [], call.olds.get("enabledClusterLogTypes") or []
    rows = [{"types": sorted(on), "enabled": True}, {"types": sorted(set(before) - set(on)), "enabled": False}]
    rows = [row for row in rows if row["types"]]
    return {"clusterLogging": rows} if rows else None


def _read_cluster(call: Call) -> Record | None:
    row = _cluster(call)
    if row is None:
        return None
    vpc = row["resourcesVpcConfig"]
    return {
        "accessConfig": {key: row["accessConfig"][key] for key in sorted(row["accessConfig"])},
        "arn": row["arn"],
        "certificateAuthority": {"data": row["certificateAuthority"]["data"]},
        "createdAt": row["createdAt"].isoformat(),
        "endpoint": row["endpoint"],
        "identities": [{"oidcs": [{"issuer": row["identity"]["oidc"]["issuer"]}]}],
        "kubernetesNetworkConfig": row["kubernetesNetworkConfig"],
        "name": row["name"],
        "platformVersion": row["platformVersion"],
        "status": row["status"],
        "upgradePolicy": row["upgradePolicy"],
        "version": row["version"],
        "vpcConfig": {key: vpc[key] for key in sorted(vpc)},
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


def _update_encryption(call: Call) -> Value:
    return call.do(
        "eks", "associate_encryption_config", {"clusterName": call.id, "encryptionConfig": _encryption(call)}
    )


ROWS: Final = (
    Row(
        "aws:eks/cluster:Cluster",
        _create_cluster,
        _read_cluster,
        lambda call: call.quietly("eks", "delete_cluster", {"name": call.id}),
        inputs=(
            "version",
            "roleArn",
            "vpcConfig",
            "accessConfig",
            "deletionProtection",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig",
            "encryptionConfig",
            "enabledClusterLogTypes",
        ),
        outputs=(
            "accessConfig",
            "arn",
            "certificateAuthority",
            "createdAt",
            "endpoint",
            "identities",
            "kubernetesNetworkConfig",
            "platformVersion",
            "status",
            "upgradePolicy",
            "version",
            "vpcConfig.clusterSecurityGroupId",
            "vpcConfig.vpcId",
            "vpcConfig.publicAccessCidrs",
        ),
        renewed=("platformVersion",),
        updates=(
            Update(
                ("version",),
                lambda call: call.do("eks", "update_cluster_version", {"name": call.id, "version": call["version"]}),
            ),
            Update(("vpcConfig",), _update_vpc),
            Update(
                ("enabledClusterLogTypes",),
                lambda call: call.do("eks", "update_cluster_config", {"name": call.id, "logging": _logging(call)}),
            ),
            Update(
                ("accessConfig",),
                lambda call: call.do(
                    "eks",
                    "update_cluster_config",
                    {
                        "name": call.id,
                        "accessConfig": {"authenticationMode": call["accessConfig"]["authenticationMode"]},
                    },
                ),
            ),
            Update(
                ("deletionProtection",),
                lambda call: call.do(
                    "eks",
                    "update_cluster_config",
                    {"name": call.id, "deletionProtection": bool(call["deletionProtection"])},
                ),
            ),
            Update(("encryptionConfig",), _update_encryption),
        ),
        forced=(
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "encryptionConfig.provider",
            "encryptionConfig.resources",
        ),
        tags=tags_for(lambda call: call.aws.arn("eks", f"cluster/{call.id}")),
        name=Name(100, prefix=""),
    ),
)
