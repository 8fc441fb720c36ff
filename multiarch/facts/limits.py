"""AWS's and Kubernetes' limits on names and counts, and a check that says what is wrong.

Lengths are in characters. Where botocore's service model states a limit, a test compares the two.
"""

from __future__ import annotations

import re
from enum import Enum

from multiarch.facts import labels
from multiarch.frozen import dataclass

MAX_USER_DATA_BYTES = 16384
"""EC2 user guide, "Run commands at launch": raw, before base64."""
MAX_MANAGED_POLICY_CHARACTERS = 6144
"""IAM user guide, quotas: white space does not count."""


@dataclass(frozen=True, slots=True)
class NameRule:
    """What a name names, its length in characters, and its form: ``pattern`` must match all of it, ``form`` says it.

    ``reserved`` are beginnings that AWS keeps for itself, compared without regard to case.
    """

    what: str
    longest: int
    pattern: str
    form: str
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
# rejects in no name worth writing; control characters stay out.
_TAG = r"[^\W_]|[ _.:/=+\-@]"
_TAG_FORM = "takes letters, digits, spaces and _.:/=+-@"
_NAME = r"[0-9A-Za-z][A-Za-z0-9_-]*"
_NAME_FORM = "begins with a letter or digit and takes letters, digits, '-' and '_'"


_DNS_FORM = "has lowercase letters, digits and -, and begins and ends with a letter or digit"


class NameKind(Enum):
    """Every kind of name with its rule.

    Sources: EKS API, ClusterName, TagKey, TagValue, labelKey, labelValue, taintKey; EKS user guide, "Create a managed
    node group"; IAM API; Kubernetes, "Labels and Selectors" and "Taints and Tolerations". For the key of a managed
    group's taint the user guide allows 253 characters with a prefix, the API's model 63: a key that passes here passes
    both.
    """

    CLUSTER = NameRule("cluster name", 100, _NAME, _NAME_FORM)
    NODE_GROUP = NameRule("node group name", 63, _NAME, _NAME_FORM)
    TAG_KEY = NameRule("tag key", 128, rf"(?:{_TAG})+", _TAG_FORM, reserved=("aws:",))
    TAG_VALUE = NameRule("tag value", 256, rf"(?:{_TAG})*", _TAG_FORM, shortest=0, reserved=("aws:",))
    LABEL_KEY = NameRule("label key", 317, _KEY, _KEY_FORM)
    LABEL_VALUE = NameRule("label value", 63, _VALUE, _VALUE_FORM, shortest=0)
    MANAGED_LABEL_KEY = NameRule("label key of a managed node group", 63, _KEY, _KEY_FORM)
    MANAGED_LABEL_VALUE = NameRule("label value of a managed node group", 63, _VALUE, _VALUE_FORM)
    TAINT_KEY = NameRule("taint key", 317, _KEY, _KEY_FORM)
    TAINT_VALUE = NameRule("taint value", 63, _VALUE, _VALUE_FORM, shortest=0)
    NAMESPACE = NameRule("namespace", 63, r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", _DNS_FORM)
    SERVICE_ACCOUNT = NameRule("service account", 253, r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", _DNS_FORM)
    FARGATE_NAMESPACE = NameRule("namespace of a selector", 63, r"[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?", _DNS_FORM)
    FARGATE_PROFILE = NameRule("Fargate profile name", 255, _NAME, _NAME_FORM, reserved=("eks-",))
    MANAGED_TAINT_KEY = NameRule("taint key of a managed node group", 63, _KEY, _KEY_FORM)


def check_name(kind: NameKind, value: str) -> str | None:
    """Say why AWS or Kubernetes would reject ``value`` as a ``kind``, in one clause, or ``None`` if they take it."""
    rule: NameRule = kind.value
    if len(value) < rule.shortest:
        if not value:
            return f"a {rule.what} cannot be empty"
        return f"{value!r} has {len(value)} characters; a {rule.what} has at least {rule.shortest}"
    if len(value) > rule.longest:
        return f"{value!r} has {len(value)} characters; a {rule.what} has at most {rule.longest}"
    for prefix in rule.reserved:
        if value.lower().startswith(prefix):
            return f"{value!r} begins with {prefix!r}, which AWS keeps for itself in a {rule.what}"
    if re.fullmatch(rule.pattern, value) is None:
        return f"{value!r} is rejected: a {rule.what} {rule.form}"
    return None


_KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")
_EKS_DOMAIN = "eks.amazonaws.com"
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
NODE_REPORTED_LABELS = frozenset({*labels.REPLACED_BY, *labels.REPLACED_BY.values(), labels.HOSTNAME})
"""What the kubelet and the cloud provider report about a node: of Kubernetes' own keys, these a kubelet may set.

Source: kubelet, ``pkg/apis/well_known_labels.go``.
"""


def explain_forbidden_label(key: str) -> str | None:
    """Return why a node can't set a label with this key on itself, or ``None``.

    A kubelet does not start when ``--node-labels`` holds a key of Kubernetes' own domains outside a short list; EKS
    keeps its own domain for itself. Both hold for managed and self-managed groups, for every AMI family.
    Source: Kubernetes, "Admission controllers", NodeRestriction; EKS API, CreateNodegroup's answer.
    """
    if labels.is_in_domains(key, (_EKS_DOMAIN,)):
        return f"{key!r} is in {_EKS_DOMAIN}, which EKS keeps for its own labels"
    if (
        not labels.is_in_domains(key, _KUBERNETES_DOMAINS)
        or key in NODE_REPORTED_LABELS
        or labels.is_in_domains(key, _KUBELET_DOMAINS)
    ):
        return None
    return f"{key!r} is in a Kubernetes domain, and the kubelet does not start with such a label"


def explain_forbidden_taint(key: str) -> str | None:
    """Return why the EKS API rejects a taint with this key on a managed node group, or ``None`` if it takes it.

    EKS keeps ``kubernetes.io``, ``k8s.io`` and its own domain. A kubelet registers such taints without complaint, so
    a self-managed group, or a managed one whose own image gets kubelet flags, may carry them.
    Source: answers of the EKS API as its users report them (2024); its reference does not say so.
    """
    if labels.is_in_domains(key, (*_KUBERNETES_DOMAINS, _EKS_DOMAIN)):
        return f"{key!r} is in a domain that EKS rejects for taints of managed node groups"
    return None
