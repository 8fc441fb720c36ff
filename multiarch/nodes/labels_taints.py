"""The one check of labels and taints, of node groups and NodePools alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from multiarch.errors import KeyPath
from multiarch.facts.limits import NODE_REPORTED_LABELS, NameKind, check_name, explain_forbidden_label
from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from multiarch.manifests.values import Labels
from multiarch.nodes.report import ProblemReport


def explain_restricted_label(key: str) -> str | None:
    """Return why a node can't have a label with this key, or None if it can.

    The kubelet does not start with a key in Kubernetes' domains that is not on its list, and EKS rejects it. The keys
    on that list are reported by the kubelet and the cloud provider (architecture, zone, instance type …): a flag would
    override them, and a node could claim a wrong architecture. Taints have neither restriction.
    Sources: kubelet, ``pkg/apis/well_known_labels.go`` and ``ValidateKubeletFlags``; facts in ``limits``.
    """
    if key in NODE_REPORTED_LABELS:
        return f"{key!r} is reported by the node itself, and a label would override it"
    return explain_forbidden_label(key)


def check_labels(
    labels: Labels,
    path: KeyPath,
    report: ProblemReport,
    *,
    managed: bool = False,
    reserved: Callable[[str], str | None] = lambda _: None,
) -> None:
    """Report labels that nodes can't have. ``path`` is that of the group or pool.

    ``managed`` labels go through the EKS API, which takes less than Kubernetes: no empty value, for one.
    ``reserved`` says why a key may not be used, or returns None.
    """
    for key, value in labels:
        where: KeyPath = (*path, "labels", key)
        if fault := check_name(NameKind.MANAGED_LABEL_KEY if managed else NameKind.LABEL_KEY, key):
            report("label-key", where, f"{fault}.")
        elif reason := reserved(key):
            report("restricted-label", where, f"{reason}.")
        elif reason := explain_restricted_label(key):
            report("restricted-label", where, f"a node can't label itself {key}: {reason}.")
        if fault := check_name(NameKind.MANAGED_LABEL_VALUE if managed else NameKind.LABEL_VALUE, value):
            report("label-value", where, f"{fault}.")


def read_taint(text: str, path: KeyPath, report: ProblemReport) -> Taint | None:
    """Read a taint, or report one that Kubernetes would reject."""
    try:
        return parse_taint(text)
    except TaintSyntaxError as error:
        report("taint", path, error.message, hint=error.hint)
        return None


def check_taints(
    texts: Sequence[str], path: KeyPath, report: ProblemReport, *, arm64_taint: Taint | None
) -> Iterator[tuple[KeyPath, Taint]]:
    """Yield the valid taints with their places, reporting the others; Kubernetes allows one per key and effect.

    ``arm64_taint`` is the stack's where the nodes carry it; it is not yielded.
    """
    seen = {(taint.key, taint.effect): taint for taint in ([arm64_taint] if arm64_taint else [])}
    for index, text in enumerate(texts):
        where: KeyPath = (*path, "taints", index)
        if (taint := read_taint(text, where, report)) is None:
            continue
        same = seen.setdefault((taint.key, taint.effect), taint)
        if same is taint:
            yield where, taint
            continue
        hint = "The stack's arm64Taint is added automatically; remove this one." if same == arm64_taint else ""
        report("duplicate-taint", where, f"{text} has the same key and effect as {same}.", hint=hint)
