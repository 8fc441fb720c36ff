"""The rules that the code reports, read from the code: each rule's name, and how severe it can be.

A rule is a literal where it is reported. Anything else would be missed here, so it is an error, but for what passes on
a rule that it was given as its parameter ``rule``, and that is one of those that are read.
"""

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
    "check_notation": 0,
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
            text = path.read_text(encoding="utf-8")
            for rule, severity in reported(text, path.relative_to(ROOT).as_posix()):
                found.setdefault(rule, set()).add(severity)
    return found


def reported(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Rule and severity of each report in a module's text. Raises ValueError for one that can't be read."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    passing_on = [function for function in functions if _takes_a_rule(function)]
    if unread := sorted({function.name for function in passing_on} - _NAMED_AT.keys() - {"__call__"}):
        raise ValueError(f"{name}: {', '.join(unread)} takes a rule, and tests/rules.py does not know where")
    passed_on = {id(node) for function in passing_on for node in ast.walk(function)}
    # What has such a name and takes no rule is something else: a syntax error of an image's alias, say.
    others = {function.name for function in functions} - {function.name for function in passing_on}
    others |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not _has_a_rule(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node) in _NAMED_AT.keys() - others:
            rule = _rule_of(node)
            if isinstance(rule, ast.Constant) and isinstance(rule.value, str):
                yield rule.value, _severity_of(node)
            elif not _is_passed_on(rule, within=id(node) in passed_on, name=name):
                raise ValueError(f"{name}:{node.lineno}: the rule that {_name(node)} takes is no literal")
        # There, functions return rule, message and hint, and one place reports them.
        elif name.endswith(_WORDING) and isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
            if len(node.value.elts) == 3 and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, "error"


def _takes_a_rule(function: ast.FunctionDef) -> bool:
    """Whether it has a parameter ``rule: str``. Other rules, such as those of topology spread, are no texts."""
    return any(
        each.arg == "rule" and isinstance(each.annotation, ast.Name) and each.annotation.id == "str"
        for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    )


def _has_a_rule(made: ast.ClassDef) -> bool:
    """Whether a class has a field ``rule``."""
    fields = [node.target for node in made.body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(field, ast.Name) and field.id == "rule" for field in fields)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _rule_of(call: ast.Call) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "rule"), None)
    at = _NAMED_AT[_name(call)]
    return call.args[at] if named is None and len(call.args) > at else named


def _is_passed_on(rule: ast.expr | None, *, within: bool, name: str) -> bool:
    """Whether a rule was read where it came from: a parameter, a fault's own, or one of those in wording."""
    if isinstance(rule, ast.Attribute):
        return rule.attr == "rule"
    return isinstance(rule, ast.Name) and rule.id == "rule" and (within or name.endswith(_WORDING))


def _severity_of(call: ast.Call) -> str:
    severity = next((keyword.value for keyword in call.keywords if keyword.arg == "severity"), None)
    return severity.attr.lower() if isinstance(severity, ast.Attribute) else "error"
