"""Text of others in output: shown as it is and obeyed by nothing, one function for each kind of output.

Names, reasons and messages come from manifests, registries, API servers and plugins. What is not printable could steer
a terminal (ESC, C1), hide or reorder text (bidirectional controls), or begin a line of its own.
"""

from __future__ import annotations


def escape_terminal(text: str) -> str:
    r"""Escape what is not printable, line breaks and tabs included, for one line of a terminal, as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def format_json(value: object) -> str:
    r"""Return a JSON document with a line break at its end; in its strings, what is not printable as ``\u001b``."""
    import json  # noqa: PLC0415 (most commands print no JSON)

    text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    # Outside of strings all is printable but line breaks; those in strings are escaped already.
    if text.replace("\n", "").isprintable():
        return f"{text}\n"
    return "\n".join(line if line.isprintable() else _escaped_json(line) for line in text.split("\n")) + "\n"


def _escaped_json(line: str) -> str:
    import json  # noqa: PLC0415 (most commands print no JSON)

    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in line)
