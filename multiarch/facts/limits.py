"""AWS's and Kubernetes' limits on names and counts, and a check that says what is wrong.

Lengths are in characters. Where botocore's service model states a limit, a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from multiarch.facts import labels

MAX_TAINTS_PER_NODE_GROUP = 50
"""EKS user guide, "Node taints on managed node groups"."""
MAX_TAGS_PER_RESOURCE = 50
"""EKS API, TagMap; IAM API, tagListType."""
MAX_USER_DATA_BYTES = 16384
"""EC2 user guide, "Run commands at launch": raw, before base64."""
MAX_MANAGED_POLICY_CHARACTERS = 6144
"""IAM user guide, quotas: white space does not count."""


class NameKind(StrEnum):
    """What a name names."""

    CLUSTER = "cluster name"
    NODE_GROUP = "node group name"
    AUTO_SCALING_GROUP = "Auto Scaling group name"
    LAUNCH_TEMPLATE = "launch template name"
    TAG_KEY = "tag key"
    TAG_VALUE = "tag value"
    LABEL_KEY = "label key"
    LABEL_VALUE = "label value"
    MANAGED_LABEL_KEY = "label key of a managed node group"
    MANAGED_LABEL_VALUE = "label value of a managed node group"
    TAINT_KEY = "taint key"
    TAINT_VALUE = "taint value"
    MANAGED_TAINT_KEY = "taint key of a managed node group"


@dataclass(frozen=True, slots=True)
class NameRule:
    """Length in characters, and the form: ``pattern`` must match the whole text, ``form`` describes it.

    ``reserved`` are beginnings that AWS keeps for itself, compared without regard to case.
    """

    longest: int
    pattern: str
    form: str
    source: str
    shortest: int = 1
    reserved: tuple[str, ...] = ()


_QUALIFIED = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_SUBDOMAIN = r"(?=.{1,253}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
_KEY = rf"(?:{_SUBDOMAIN}/)?(?=.{{1,63}}$){_QUALIFIED}"
_VALUE = rf"(?:{_QUALIFIED})?"
_KEY_FORM = (
    "takes [PREFIX/]NAME: NAME of at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or "
    "digit; PREFIX a DNS name in lower case of at most 253 characters"
)
_VALUE_FORM = "takes letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
# Letters, digits and spaces of any script: [\p{L}\p{Z}\p{N}_.:/=+\-@] in IAM's model. \w adds marks that IAM
# refuses in no name worth writing; control characters stay out.
_TAG = r"[^\W_]|[ _.:/=+\-@]"
_TAG_FORM = "takes letters, digits, spaces and _.:/=+-@"
_K8S = "Kubernetes, labels and selectors"

RULES: Mapping[NameKind, NameRule] = MappingProxyType(
    {
        NameKind.CLUSTER: NameRule(
            100,
            r"[0-9A-Za-z][A-Za-z0-9_-]*",
            "begins with a letter or digit and takes letters, digits, '-' and '_'",
            "EKS API, ClusterName",
        ),
        NameKind.NODE_GROUP: NameRule(
            63,
            r"[0-9A-Za-z][A-Za-z0-9_-]*",
            "begins with a letter or digit and takes letters, digits, '-' and '_'",
            "EKS user guide, 'Create a managed node group'",
        ),
        NameKind.AUTO_SCALING_GROUP: NameRule(
            255,
            r"[!-9;-~]+",
            "takes printable ASCII without spaces and colons",
            "Auto Scaling API, CreateAutoScalingGroup",
        ),
        NameKind.LAUNCH_TEMPLATE: NameRule(
            128, r"[a-zA-Z0-9().\-/_]+", "takes letters, digits and ().-/_", "EC2 API, LaunchTemplateName", shortest=3
        ),
        NameKind.TAG_KEY: NameRule(128, rf"(?:{_TAG})+", _TAG_FORM, "EKS API, TagKey; IAM API", reserved=("aws:",)),
        NameKind.TAG_VALUE: NameRule(
            256, rf"(?:{_TAG})*", _TAG_FORM, "EKS API, TagValue; IAM API", shortest=0, reserved=("aws:",)
        ),
        NameKind.LABEL_KEY: NameRule(317, _KEY, _KEY_FORM, _K8S),
        NameKind.LABEL_VALUE: NameRule(63, _VALUE, _VALUE_FORM, _K8S, shortest=0),
        NameKind.MANAGED_LABEL_KEY: NameRule(63, _KEY, _KEY_FORM, "EKS API, labelKey"),
        NameKind.MANAGED_LABEL_VALUE: NameRule(63, _VALUE, _VALUE_FORM, "EKS API, labelValue"),
        NameKind.TAINT_KEY: NameRule(317, _KEY, _KEY_FORM, "Kubernetes, taints and tolerations"),
        NameKind.TAINT_VALUE: NameRule(63, _VALUE, _VALUE_FORM, "Kubernetes, taints and tolerations", shortest=0),
        # The user guide allows 253 characters with a prefix, the API's model 63: a key that passes here passes both.
        NameKind.MANAGED_TAINT_KEY: NameRule(63, _KEY, _KEY_FORM, "EKS API, taintKey"),
    }
)
"""One rule per kind."""


def check_name(kind: NameKind, value: str) -> str | None:
    """Say why AWS or Kubernetes would refuse ``value`` as a ``kind``, in one clause, or ``None`` if they take it."""
    rule = RULES[kind]
    if len(value) < rule.shortest:
        if not value:
            return f"a {kind} cannot be empty"
        return f"{value!r} has {len(value)} characters; a {kind} has at least {rule.shortest}"
    if len(value) > rule.longest:
        return f"{value!r} has {len(value)} characters; a {kind} has at most {rule.longest}"
    for prefix in rule.reserved:
        if value.lower().startswith(prefix):
            return f"{value!r} begins with {prefix!r}, which AWS keeps for itself in a {kind}"
    if re.fullmatch(rule.pattern, value) is None:
        return f"{value!r} is refused: a {kind} {rule.form}"
    return None


_KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")
_EKS_DOMAIN = "eks.amazonaws.com"
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
NODE_REPORTED_LABELS = frozenset({*labels.REPLACED_BY, *labels.REPLACED_BY.values(), labels.HOSTNAME})
"""What the kubelet and the cloud provider report about a node: of Kubernetes' own keys, these a kubelet may set.

Source: kubelet, ``pkg/apis/well_known_labels.go``.
"""


def why_not_node_label(key: str) -> str | None:
    """Why a node can't set a label with this key on itself, or ``None``.

    A kubelet does not start when ``--node-labels`` holds a key of Kubernetes' own domains outside a short list; EKS
    keeps its own domain for itself. Both hold for managed and self-managed groups, for every AMI family.
    Source: Kubernetes, "Admission controllers", NodeRestriction; EKS API, CreateNodegroup's answer.
    """
    if labels.in_domains(key, (_EKS_DOMAIN,)):
        return f"{key!r} is in {_EKS_DOMAIN}, which EKS keeps for its own labels"
    if (
        not labels.in_domains(key, _KUBERNETES_DOMAINS)
        or key in NODE_REPORTED_LABELS
        or labels.in_domains(key, _KUBELET_DOMAINS)
    ):
        return None
    return f"{key!r} is in a Kubernetes domain, and the kubelet does not start with such a label"


def why_not_managed_taint(key: str) -> str | None:
    """Why the EKS API refuses a taint with this key on a managed node group, or ``None`` if it takes it.

    EKS keeps ``kubernetes.io``, ``k8s.io`` and its own domain. A kubelet registers such taints without complaint, so
    a self-managed group, or a managed one whose own image gets kubelet flags, may carry them.
    Source: answers of the EKS API as its users report them (2024); its reference does not say so.
    """
    if labels.in_domains(key, (*_KUBERNETES_DOMAINS, _EKS_DOMAIN)):
        return f"{key!r} is in a domain that EKS refuses for taints of managed node groups"
    return None
