"""The labels and taints that a kubelet registers its node with.

Source: kubernetes, ``cmd/kubelet/app/options/options.go`` (flags, ``ValidateKubeletFlags``),
``cmd/kubelet/app/server.go`` (flags have precedence over the configuration), ``pkg/util/taints/taints.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from multiarch.facts.labels import is_in_domains
from multiarch.facts.limits import NameKind, check_name, explain_forbidden_label
from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError

__all__ = ["Registration", "registration"]


@dataclass(frozen=True, slots=True)
class Registration:
    """What a node registers with, beside what the kubelet reports of itself. ``taints`` are sorted."""

    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


def registration(start: KubeletStart) -> Registration:
    """Return the labels and taints by the kubelet's flags and configuration.

    Several ``--node-labels`` add up, and the later value of a key wins. Of several ``--register-with-taints`` the last
    one alone counts; it replaces ``registerWithTaints`` of the configuration. Raises NodeStartError for a label or
    taint with which the kubelet does not start.
    """
    labels = {}
    for text in _values(start.flags, "node-labels"):
        for each in filter(None, text.split(",")):
            key, _, value = each.partition("=")
            labels[key.strip()] = value.strip()
    for key, value in labels.items():
        # EKS keeps its own domain for itself; the kubelet takes labels of it.
        reserved = None if is_in_domains(key, ("eks.amazonaws.com",)) else explain_forbidden_label(key)
        if fault := check_name(NameKind.LABEL_KEY, key) or check_name(NameKind.LABEL_VALUE, value) or reserved:
            raise NodeStartError(f"The kubelet does not start: label {key}={value}: {fault}.")
    flags = list(_values(start.flags, "register-with-taints"))
    texts = flags[-1].split(",") if flags else list(map(_written, start.config.get("registerWithTaints") or ()))
    taints = tuple(sorted(_taint(text) for text in texts if text))
    if len({(taint.key, taint.effect) for taint in taints}) < len(taints):
        raise NodeStartError(
            f"The kubelet does not start: taints with the same key and effect: {', '.join(map(str, taints))}."
        )
    return Registration(labels, taints)


def _values(flags: Sequence[str], name: str) -> Iterator[str]:
    """Yield the values of a flag, written ``--name=value`` or ``--name value``; ``_`` is read as ``-``."""
    for index, word in enumerate(flags):
        flag, equals, value = word.partition("=")
        if flag.replace("_", "-") == f"--{name}":
            if not equals and index + 1 == len(flags):
                raise NodeStartError(f"The kubelet does not start: --{name} needs a value.")
            yield value if equals else flags[index + 1]


def _written(row: Mapping[str, str]) -> str:
    return f"{row.get('key', '')}={row.get('value', '')}:{row.get('effect', '')}"


def _taint(text: str) -> Taint:
    try:
        return parse_taint(text)
    except TaintSyntaxError as error:
        raise NodeStartError(f"The kubelet does not start: taint {text!r}: {error.message}") from error
