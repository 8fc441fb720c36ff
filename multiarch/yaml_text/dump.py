"""Plain values written as YAML, so that kubectl and every YAML 1.2 parser read the same, and people see all of it."""

from __future__ import annotations

from typing import Any

import yaml

from multiarch.yaml_text.scalars import read_kubernetes_scalar

_NEVER_FOLDED = 100_000


# The pure dumper: libyaml's lays long lines out differently.
class _Dumper(yaml.SafeDumper):  # type: ignore[misc] # PyYAML has no types
    """Strings of several lines as blocks, not as one long line with escapes in it."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        """Write a repeated value again instead of an alias."""
        return True

    def represent_str(self, data: str) -> Any:  # noqa: ANN401
        """Write one string, in quotes where kubectl would read something else, or where it has escapes."""
        style = "|" if "\n" in data else None
        if not data.replace("\n", "").isprintable() or read_kubernetes_scalar(data) != data:
            style = '"'
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)
_Dumper.add_multi_representer(float, _Dumper.represent_float)
_Dumper.add_multi_representer(int, _Dumper.represent_int)


def dump_yaml(value: object, *, sort_keys: bool = False) -> str:
    """Write one document of mappings, lists and plain values in block style, no line folded.

    What is not printable, such as bidirectional controls, is escaped.
    """
    written: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=sort_keys,
        allow_unicode=True,
        width=_NEVER_FOLDED,
    )
    if written.replace("\n", "").isprintable():
        return written
    # What is left stands in double quotes: PyYAML escapes control characters only.
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode() for each in written
    )
