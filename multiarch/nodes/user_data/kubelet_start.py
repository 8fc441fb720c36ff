"""Whether a script would start the kubelet itself, which only the bootstrap may do.

A kubelet that is started twice registers the node without its taints, or with another configuration.
Source: EKS user guide, "Customize managed nodes with launch templates", "Amazon EC2 user data".
"""

from __future__ import annotations

import re

# Teams that stay on AL2 edit the script in its place.
_START = re.compile(
    r"^(?!.*\bsed\s).*/etc/eks/bootstrap\.sh|\bnodeadm(?:\W+init|-run)\b"
    r"|\b(?:systemctl|service)\b(?=.*(?:\b(?:re)?start\b|--now\b)).*(?<![\w-])kubelet(?![\w-])"
)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_COMMAND_END = re.compile(r"[;&]|\s\|+\s")


def starts_kubelet(script: str) -> str | None:
    """Say which line of ``script`` would start the kubelet, as ``line 3: systemctl start kubelet``, or None.

    Scripts are not parsed: each command of a line counts by its words, in quotes and in any language too.
    """
    for number, line in enumerate(script.splitlines(), start=1):
        if any(map(_START.search, _COMMAND_END.split(_COMMENT.sub("", line)))):
            return f"line {number}: {' '.join(line.split())}"
    return None
