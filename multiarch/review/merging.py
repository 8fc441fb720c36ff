"""Findings about several NodePools that say the same, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from multiarch.rules import Finding

_ONE, _SEVERAL = "NodePool ", "NodePools "


def merge_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings; those of NodePools with the same text and details become the first one, with all names.

    One setting in a stack file makes a NodePool for each architecture and capacity type.
    """
    found: dict[object, Finding] = {}
    for number, each in enumerate(findings):
        key = (each.rule.name, each.text, each.details, each.level) if each.subject.startswith(_ONE) else number
        if (first := found.get(key)) is None:
            found[key] = each
            continue
        names = (
            f"{_SEVERAL}{first.subject.removeprefix(_ONE).removeprefix(_SEVERAL)}, {each.subject.removeprefix(_ONE)}"
        )
        found[key] = replace(first, subject=names, urns=tuple(dict.fromkeys((*first.urns, *each.urns))))
    yield from found.values()
