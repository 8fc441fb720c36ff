"""The add-ons of the sandbox's EKS, and what DescribeAddonConfiguration says of them: a stand-in.

Names, namespaces, service accounts and policies are AWS's (EKS user guide, "AWS add-ons" and "Community add-ons").
Schemas have the form of AWS's, JSON Schema 2019-09 without keys that it does not name, and a part of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from multiarch.facts.addons import AddOn, add_ons
from multiarch.facts.extra_addons import EXTRA

_UNKNOWN_TO_THE_PROJECT: Final = (
    AddOn(
        "aws-privateca-connector-for-kubernetes",
        "",
        "",
        "security",
        "v1.6.0",
        namespace="aws-privateca-issuer",
        service_account="aws-privateca-issuer",
        managed_policies=("AWSPrivateCAConnectorForKubernetesPolicy",),
    ),
)
ADD_ONS: Final[Mapping[str, AddOn]] = {
    **add_ons(),
    **EXTRA,
    **{row.name: row for row in _UNKNOWN_TO_THE_PROJECT},
}
"""What CreateAddon takes, by name."""

_RECOMMENDED: Final = {
    "aws-mountpoint-s3-csi-driver": ("AmazonS3FullAccess",),
    "external-dns": ("AmazonRoute53FullAccess",),
}
"""What EKS recommends where this project gives nothing by default."""


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


_NUMBER: Final = {"type": "integer", "minimum": 1}
_FLAG: Final = {"type": "boolean"}
_TEXT: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _TEXT}
_TOLERATION: Final = _object(
    key=_TEXT,
    operator={"enum": ["Exists", "Equal"]},
    value=_TEXT,
    effect={"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
    tolerationSeconds={"type": "integer"},
)
_TOLERATIONS: Final = {"type": "array", "items": _TOLERATION}
_PLACE: Final = {"nodeSelector": {"type": "object"}, "tolerations": _TOLERATIONS, "affinity": {"type": "object"}}
_ENV: Final = (
    "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG",
    "ENABLE_PREFIX_DELEGATION",
    "ENI_CONFIG_LABEL_DEF",
    "WARM_PREFIX_TARGET",
)
_ENI_CONFIG: Final = _object(
    create=_FLAG,
    region=_TEXT,
    subnets={
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {**_object(id=_TEXT, securityGroups=_STRINGS), "required": ["id"]},
    },
)
_SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "vpc-cni": _object(
        enableNetworkPolicy=_TEXT,
        env=_object(**dict.fromkeys(_ENV, _TEXT)),
        eniConfig={**_ENI_CONFIG, "required": ["create", "region", "subnets"]},
    ),
    "metrics-server": _object(replicas=_NUMBER, **_PLACE),
    "aws-efs-csi-driver": _object(
        controller=_object(replicaCount=_NUMBER, deleteAccessPointRootDir=_FLAG, **_PLACE), node=_object(**_PLACE)
    ),
    "aws-mountpoint-s3-csi-driver": _object(
        node=_object(tolerateAllTaints=_FLAG, defaultTolerations=_FLAG, tolerations=_TOLERATIONS)
    ),
    "amazon-cloudwatch-observability": _object(
        containerLogs=_object(enabled=_FLAG), manager=_object(**_PLACE), tolerations=_TOLERATIONS
    ),
    "external-dns": _object(
        domainFilters=_STRINGS, sources=_STRINGS, policy={"enum": ["sync", "upsert-only"]}, **_PLACE
    ),
}


def get_schema(name: str) -> Mapping[str, Any] | None:
    """Return the schema of an add-on's configuration values; None where the sandbox has none, and takes any."""
    if name not in _SCHEMAS:
        return None
    return {"$schema": "https://json-schema.org/draft/2019-09/schema", **_SCHEMAS[name]}


def list_pod_identities(row: AddOn) -> list[dict[str, Any]]:
    """Return what DescribeAddonConfiguration says of roles: the service account, and policies."""
    if row.service_account is None:
        return []
    policies = row.managed_policies or _RECOMMENDED.get(row.name, ())
    arns = [f"arn:aws:iam::aws:policy/{each}" for each in policies]
    return [{"serviceAccount": row.service_account, "recommendedManagedPolicies": arns}]
