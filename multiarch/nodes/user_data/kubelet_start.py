"""Whether a script would start the kubelet itself, which only the bootstrap may do.

A kubelet that is started twice registers the node without its taints, or with another configuration.
Source: EKS user guide, "Customize managed nodes with launch templates", "Amazon EC2 user data".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CALL = re.compile(r"/etc/eks/bootstrap\.sh|\bnodeadm\W+init\b|\bnodeadm-run\b")
# Teams that stay on AL2 patch the script in its place.
_EDITED = re.compile(r"^\s*(?:sudo\s+)?sed\s.*?\s/etc/eks/bootstrap\.sh(?=\s*(?:$|[;&|]))")
_MANAGER = re.compile(r"\bsystemctl\b|\bservice\s|/etc/init\.d/")
_START = re.compile(r"\b(?:re)?start\b")
_ENABLE, _NOW = re.compile(r"\b(?:re)?enable\b"), re.compile(r"--now\b")
_COMMAND_END = re.compile(r"[;|&]+")
_UNIT = re.compile(r"(?<![\w-])kubelet(?![\w-])|\bkube\S*\*|nodeadm")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def starts_kubelet(script: str) -> str | None:
    """Say which line of ``script`` would start the kubelet, as ``line 3: systemctl start kubelet``, or None.

    Found are ``/etc/eks/bootstrap.sh`` (unless ``sed`` edits it), ``nodeadm init``, and ``systemctl`` or ``service``
    starting ``kubelet`` or a ``nodeadm`` unit. Scripts are not parsed: every mention outside of a comment counts, in
    quotes and here-documents too, in any language. The kubelet's own program, and units in variables, are not found.
    """
    for number, line in _lines(script):
        if _CALL.search(_EDITED.sub("", line)) or any(map(_starts_unit, _COMMAND_END.split(line))):
            return f"line {number}: {' '.join(line.split())}"
    return None


def _starts_unit(command: str) -> bool:
    # One pattern for all would try every pair of words, which takes long on a long line.
    starts = _START.search(command) or (_ENABLE.search(command) and _NOW.search(command))
    return bool(starts and _MANAGER.search(command) and _UNIT.search(command))


def _lines(script: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number, continued lines joined, without comments."""
    number = 1
    for line in re.split(r"(?<!\\)\n", script):
        text = line.replace("\\\n", " ")
        comment = _COMMENT.search(text)
        # A # in quotes begins no comment.
        if comment and not any(text.count(quote, 0, comment.start()) % 2 for quote in "'\""):
            text = text[: comment.start()]
        yield number, text
        number += line.count("\n") + 1
