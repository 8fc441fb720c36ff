"""Changes as teams make them, and what a reviewer must and must not read about each.

``rules`` are all rules that find something: no other may. ``says`` are parts of the Markdown, ``silent`` strings that
it must not have. Two things happen outside of Pulumi before the previews: an autoscaler has set the number of nodes of
a group in DEV, and somebody has widened a role of PROD by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tests.e2e.previewed import Change, replaced
from tests.e2e.world import NO_REFRESH, Renamed

DEV, PROD = "checkout-dev", "payments-prod"
BESIDE = "beside.py"
PREVIEW = ("preview", NO_REFRESH)
ADMINS = ["arn:aws:iam::111122223333:role/platform-admin", "arn:aws:iam::999988887777:role/contractor"]
CONTROLLER = {"karpenter": {"controllerGroup": "general"}}


@dataclass(frozen=True, slots=True)
class Case:
    """One change. ``failed``: the preview ends with an error."""

    change: Change
    rules: frozenset[str] = frozenset()
    says: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    failed: bool = False


def rules(*names: str) -> frozenset[str]:
    return frozenset(names)


def dev(**edits: object) -> Change:
    """A change of the development stack's file; ``__`` stands for the slash of a path."""
    return Change(DEV, {name.replace("__", "/"): value for name, value in edits.items()}, command=PREVIEW)


def prod(edits: Mapping[str, object]) -> Change:
    """A change of the production stack's file."""
    return Change(PROD, edits, command=PREVIEW)


def beside(*pairs: tuple[str, str]) -> Change:
    """A change of what stands beside the platform."""
    return Change(DEV, files={BESIDE: replaced(*pairs)}, command=PREVIEW)


GROUPS: Mapping[str, Case] = {
    "scale-and-access": Case(
        dev(
            nodeGroups__graviton__minSize=3,
            nodeGroups__graviton__maxSize=12,
            apiEndpoint__publicCidrs=["203.0.113.0/24", "198.51.100.0/24"],
            access__admins=ADMINS,
        ),
        rules("public-endpoint", "refused-size", "widen-cluster-access"),
        (
            *("node group graviton", "minSize 1 → 3, maxSize 4 → 12", "while the group has 1 node"),
            "can be reached from: `198.51.100.0/24`",
            "arn:aws:iam::999988887777:role/contractor",
            "AmazonEKSClusterAdminPolicy",
        ),
        ("node group general", "replaced", "addresses: `203", "role/platform-admin"),
    ),
    "kubernetes-version": Case(
        dev(kubernetesVersion="1.36"),
        rules("change-kubernetes", "roll-nodes"),
        ("1.35 → 1.36", "It can't be undone", "node group general", "node group graviton", "group batch"),
        ("lose", "deleted", "`replace-stateful`"),
    ),
    "group-renamed": Case(
        dev(nodeGroups__graviton=Renamed("arm")),
        rules("add-group", "roll-nodes"),
        ("graviton is renamed to arm",),
        ("node group general", "group batch"),
    ),
    "tags-only": Case(
        dev(costCenter="4712"),
        rules("roll-nodes"),
        ("tags of instances and volumes", "tags-only (32)"),
        ("deleted", "`replace-stateful`"),
    ),
}
AUTOSCALERS: Mapping[str, Case] = {
    "to-karpenter": Case(
        dev(autoscaling={"use": "karpenter", "migrateFrom": "cluster-autoscaler"} | CONTROLLER),
        rules(
            "add-group",
            "swap-autoscaler",
            "widen-cluster-access",
            "widen-iam",
            "widen-resource-policy",
            "widen-trust",
        ),
        ("Karpenter is installed beside the cluster autoscaler",),
        ("`roll-nodes`", "`remove-nodes`"),
    ),
    "from-karpenter": Case(
        prod({"autoscaling": {"use": "cluster-autoscaler", "prefer": "arm64"}}),
        rules(
            "delete-running",
            "delete-stateful",
            "lose-nodes",
            "narrow-permissions",
            "remove-nodes",
            "swap-autoscaler",
            "widen-cluster-access",
            "widen-iam",
            "widen-trust",
        ),
        ("Karpenter is replaced by the cluster autoscaler at once", "Karpenter drains all nodes at the same time"),
        ("node group base", "nothing removes them"),
    ),
}  # fmt: skip
RIGHTS: Mapping[str, Case] = {
    "beside-changed": Case(
        beside(
            ('["sqs:SendMessage"]', '["sqs:*", "s3:GetObject"]'),
            ('["10.0.0.0/8"]', '["10.0.0.0/8", "0.0.0.0/0"]'),
            ('["pods"], "verbs": ["get", "list"]', '["pods", "secrets"], "verbs": ["*"]'),
            ('"serviceName": "database"', '"serviceName": "db"'),
            ("correct horse battery staple", "hunter2 hunter2"),
        ),
        rules("replace-stateful", "widen-iam", "widen-kubernetes-rbac", "widen-network"),
        (
            "HIGH: IAM role reports",
            "`sqs:*, s3:GetObject` on `arn:aws:sqs:eu-west-1:123456789012:orders`",
            "security group reports",
            "443",
            "secrets",
            "HIGH: StatefulSet `default/database`",
            "`spec.serviceName`: database → db",
            "deleted before the new one",
            "`stringData.password`",
        ),
        ("`10.0.0.0/8`", "node group"),
    ),
}
LOSSES: Mapping[str, Case] = {
    "destroyed": Case(
        Change(DEV, command=("destroy", "--preview-only", NO_REFRESH)),
        rules("delete-running", "delete-stateful", "preview-failed", "remove-nodes"),
        ("EKS cluster checkout-dev", "orders cannot be deleted because it is protected"),
        failed=True,
    ),
}
OTHERS: Mapping[str, Case] = {
    "unchanged": Case(Change(DEV), rules(), ("no risk found", "desired-size (1)"), ("node group", "`drift`")),
    "drift": Case(Change(PROD), rules("drift", "narrow-permissions", "widen-iam"), ("managed-nodes",), ("node group",)),
    "new-stack": Case(
        Change("checkout-qa", {"environment": "qa"}, like=DEV, command=PREVIEW),
        rules("public-endpoint", "widen-cluster-access", "widen-iam", "widen-resource-policy", "widen-trust"),
        ("## checkout-qa", "106 created"),
        ("## checkout-dev",),
    ),
    "rejected": Case(
        dev(nodeGroups__graviton__instanceTypes=["m7g.large", "m7i.large"]),
        rules("invalid-stack-file", "preview-failed"),
        ("a node group has one architecture", "does not show everything"),
        ("Traceback",),
        failed=True,
    ),
}
CASES: Mapping[str, Case] = MappingProxyType({**GROUPS, **AUTOSCALERS, **RIGHTS, **LOSSES, **OTHERS})
