"""The rules that the code reports, read from the code: each rule's name, and how severe it can be."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_NAMED_AT: Mapping[str, int] = {
    "Fault": 0,
    "Problem": 0,
    "_at": 2,
    "_fault": 0,
    "_refuse": 0,
    "problem": 0,
    "report": 0,
}
"""Where each function that reports takes the rule's name."""
_WORDING = "wording.py"


def rules() -> dict[str, set[str]]:
    """Severities by rule, of everything in ``multiarch`` and ``components``."""
    found: dict[str, set[str]] = {}
    for folder in ("multiarch", "components"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for rule, severity in _reported(path):
                found.setdefault(rule, set()).add(severity)
    return found


def _reported(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            rule = _rule_of(node)
            if rule is not None:
                yield rule, _severity_of(node)
        # There, functions return rule, message and hint, and one place reports them.
        elif path.name == _WORDING and isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
            if len(node.value.elts) == 3 and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, "error"


def _rule_of(call: ast.Call) -> str | None:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in _NAMED_AT:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "rule"), None)
    if named is None and len(call.args) > _NAMED_AT[name]:
        named = call.args[_NAMED_AT[name]]
    return named.value if isinstance(named, ast.Constant) and isinstance(named.value, str) else None


def _severity_of(call: ast.Call) -> str:
    severity = next((keyword.value for keyword in call.keywords if keyword.arg == "severity"), None)
    return severity.attr.lower() if isinstance(severity, ast.Attribute) else "error"
