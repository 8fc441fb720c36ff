"""The control plane and what is set on it: version, encryption, add-ons, sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from types import MappingProxyType

from multiarch.errors import KeyPath, UnknownFactError
from multiarch.facts import kubernetes
from multiarch.nodes.report import ProblemReport
from multiarch.schema.charts import Charts
from multiarch.schema.stack import StackSpec

PRODUCTION = frozenset({"live", "prod", "production"})
"""Environments whose clusters are protected from deletion, and have zones that stay."""
_SOON = timedelta(days=60)
_SUPPORT: Mapping[tuple[kubernetes.Tier, bool], tuple[str, str]] = MappingProxyType(
    {
        ("unsupported", True): ("kubernetes-unsupported", "EKS support for {version} ended on {ends}."),
        ("extended", True): (
            "kubernetes-forced-upgrade",
            "support for {version} ends on {ends}; then EKS upgrades the cluster automatically.",
        ),
        ("extended", False): (
            "kubernetes-extended",
            "{version} is in extended support, which costs more per cluster hour, until {ends}.",
        ),
        ("unconfirmed", False): (
            "kubernetes-unconfirmed",
            "the support dates of {version} on EKS are not in the table of facts.",
        ),
        ("standard", True): (
            "kubernetes-ends-soon",
            "standard support for {version} ends on {ends}; after that the cluster costs more per hour.",
        ),
    }
)
"""Rule and message for a tier of support, and whether it ends soon."""
_STANDARD: Mapping[tuple[kubernetes.Tier, bool], tuple[str, str]] = MappingProxyType(
    {
        **_SUPPORT,
        **dict.fromkeys(
            (("extended", True), ("extended", False)),
            (
                "upgrade-policy",
                "upgradePolicy is STANDARD, and {version} is in extended support, which EKS then can't turn off.",
            ),
        ),
        ("standard", True): (
            "upgrade-policy-soon",
            "standard support for {version} ends on {ends}; then EKS upgrades the cluster (upgradePolicy: STANDARD).",
        ),
    }
)
"""The same with ``upgradePolicy: STANDARD``. Source: EKS user guide, "Cluster upgrade policy"."""
# A host, perhaps with a port, and the path of repositories; no scheme but oci, no credentials, no slash at the end.
_CHART_REGISTRY = r"oci://[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+"


def check_kubernetes(
    version: str,
    today: date,
    report: ProblemReport,
    path: KeyPath = ("kubernetesVersion",),
    *,
    upgrade_policy: str | None = None,
) -> bool:
    """Report a version that EKS does not support; say whether the version is known at all."""
    try:
        status = kubernetes.get_support_status(version, today)
    except UnknownFactError as error:
        report("kubernetes-version", path, error.message, hint=error.hint)
        return False
    soon = status.ends is not None and status.ends - today <= _SOON
    rows = _STANDARD if upgrade_policy == "STANDARD" else _SUPPORT
    if found := rows.get((status.tier, soon)):
        rule, message = found
        hint = _upgrade_hint(today) if status.tier == "unsupported" else ""
        report(rule, path, message.format(version=f"Kubernetes {version}", ends=status.ends), hint=hint)
    return True


def _upgrade_hint(today: date) -> str:
    if (version := kubernetes.find_successor(today)) is None:
        return "All Kubernetes versions that this release of multiarch knows have ended: upgrade multiarch."
    return f"Use {version}; an existing cluster is upgraded one minor at a time."


def choose_deletion_protection(spec: StackSpec, report: ProblemReport) -> bool:
    """Return what was written, or true in production."""
    production = spec.environment in PRODUCTION
    if spec.deletion_protection is None:
        return production
    if production and not spec.deletion_protection:
        report("prod-unprotected", ("deletionProtection",), f"{spec.environment} without deletion protection.")
    return spec.deletion_protection


def check_zones(spec: StackSpec, report: ProblemReport) -> None:
    """Require named zones in production: a list that AWS changes would move subnets, and with them all nodes."""
    network = spec.network
    if spec.environment in PRODUCTION and network.vpc_id is None and not isinstance(network.zones, list):
        report(
            "zones-not-named",
            ("network", "zones"),
            f"the zones of {spec.environment} are the region's first ones of the day; where AWS's list changes, "
            "subnets and nodes would be replaced.",
        )


def check_encryption(spec: StackSpec, report: ProblemReport) -> None:
    """Report a key without encryption."""
    encryption, path = spec.secrets_encryption, ("secretsEncryption", "kmsKeyArn")
    if encryption.kms_key_arn and not encryption.enabled:
        report("key-without-encryption", path, "kmsKeyArn is given and encryption is off.")


def check_chart_registry(charts: Charts, report: ProblemReport) -> None:
    """Report a registry from which no chart can be loaded. Its text, which may have a password, is not shown."""
    if charts.registry is not None and not re.fullmatch(_CHART_REGISTRY, charts.registry):
        report("chart-registry", ("charts",), "registry is not written as oci://HOST/PATH.")
