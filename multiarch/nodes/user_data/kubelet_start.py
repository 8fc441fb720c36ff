"""Whether a script would start the kubelet itself, which only the bootstrap may do.

A kubelet that is started twice registers the node without its taints, or with another configuration.
Source: EKS user guide, "Customize managed nodes with launch templates", "Amazon EC2 user data".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CALL = re.compile(
    r"""
    /etc/eks/bootstrap\.sh | (?<!\S)(?:\./)?bootstrap\.sh\b
    | \bnodeadm\W+init\b | \bnodeadm-run\b
    | (?:\bservice|/etc/init\.d/)\W*kubelet\W+(?:re)?start\b
    # kubelet as a command: first in the line or behind an operator, a keyword, an assignment or a substitution.
    | (?: ^ | [;&({`!] | \b(?:do|else|exec|nohup|sudo|then)\s | \s-\w*c\s*['"] ) \s* (?:\w+=\S*\s+)*
      (?:/\S*/)?kubelet (?= \s*$ | \s+-(?!-version|-help|h\b) | \s*[;&)`'"] )
    """,
    re.VERBOSE,
)
_SYSTEMCTL = re.compile(r"\bsystemctl\b.*\b(?:(?:re)?start\b|(?:re)?enable\b.*--now\b|(?<=--now).*(?:re)?enable\b)")
_UNIT = re.compile(r"kubelet|\bkube\S*\*|nodeadm")
_VARIABLE = re.compile(r"\$|\bxargs\b")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def starts_kubelet(script: str) -> str | None:
    """Say which line of ``script`` would start the kubelet, as ``line 3: systemctl start kubelet``, or None.

    Found are ``/etc/eks/bootstrap.sh``, ``nodeadm init``, the kubelet itself, and ``systemctl`` or ``service`` starting
    ``kubelet`` or a ``nodeadm`` unit. Scripts are not parsed: every mention outside of a comment counts, in quotes and
    here-documents too, whatever the language. A unit in a variable counts where the script mentions the kubelet.
    """
    lines = list(_lines(script))
    mentioned = any(_UNIT.search(line) for _, line in lines)
    for number, line in lines:
        systemctl = _SYSTEMCTL.search(line) and (_UNIT.search(line) or (mentioned and _VARIABLE.search(line)))
        if systemctl or _CALL.search(line):
            return f"line {number}: {' '.join(line.split())}"
    return None


def _lines(script: str) -> Iterator[tuple[int, str]]:
    """Each line with its number, continued lines joined, without comments."""
    number = 1
    for line in re.split(r"(?<!\\)\n", script):
        text = line.replace("\\\n", " ")
        comment = _COMMENT.search(text)
        # A # in quotes begins no comment.
        if comment and not any(text.count(quote, 0, comment.start()) % 2 for quote in "'\""):
            text = text[: comment.start()]
        yield number, text
        number += line.count("\n") + 1
