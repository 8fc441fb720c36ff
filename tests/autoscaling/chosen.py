"""What the priority expander chooses by the map that it is given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ruamel.yaml import YAML


def chosen(priorities_yaml: str, asg_names: Sequence[str]) -> tuple[str, ...]:
    """The groups with the highest priority whose expressions match; each has to match one."""
    rules = YAML(typ="safe", pure=True).load(priorities_yaml)
    best = {
        name: max(priority for priority, regexes in rules.items() if any(re.search(each, name) for each in regexes))
        for name in asg_names
    }
    return tuple(name for name in asg_names if best[name] == max(best.values()))
