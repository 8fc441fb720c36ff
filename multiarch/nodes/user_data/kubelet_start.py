"""Whether a script would start the kubelet itself, which only the bootstrap may do.

A kubelet that is started twice registers the node without its taints, or with another configuration.
Source: EKS user guide, "Customize managed nodes with launch templates", "Amazon EC2 user data".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CALL = re.compile(
    r"""
    /etc/eks/bootstrap\.sh
    | \bnodeadm\W+init\b | \bnodeadm-run\b
    | (?:\bservice|/etc/init\.d/)\W*kubelet\W+(?:re)?start\b
    # kubelet as a command: first in the line or behind an operator, a keyword, another command or an assignment.
    # Spaces are not given back (`\s++`): a long run would take time by the square of its length.
    | (?: ^ | [;&({`!] | \b(?:do|else|then)\s | \s-\w*c\s*['"]
        | \b(?:command|env|exec|ionice|nice|nohup|setsid|stdbuf|sudo|systemd-run|time|timeout)\s++
          (?: (?:-n\s+-?\d+ | -[acgku]\s+\S+ | -\S+ | \d\S*) \s++ ){0,9}
      ) \s*+ (?:\w+=\S*\s+)*
      (?:/\S*/)?kubelet (?= \s*$ | \s+-(?!-version|-help|h\b) | \s*[;&)`'"] )
    """,
    re.VERBOSE,
)
_IN_EKS_FOLDER = re.compile(r"(?<!\S)(?:\./)?bootstrap\.sh\b")
# Teams that stay on AL2 patch the script in its place.
_EDITED = re.compile(r"^\s*(?:sudo\s+)?sed\s.*?\s/etc/eks/bootstrap\.sh(?=\s*(?:$|[;&|]))")
_SYSTEMCTL = re.compile(r"\bsystemctl\b")
_START = re.compile(r"\b(?:re)?start\b")
_ENABLE, _NOW = re.compile(r"\b(?:re)?enable\b"), re.compile(r"--now\b")
_COMMAND_END = re.compile(r"[;|&]+")
_UNIT = re.compile(r"(?<![\w-])kubelet(?![\w-])|\bkube\S*\*|nodeadm")
_VARIABLE = re.compile(r"\$|\bxargs\b")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")


def starts_kubelet(script: str) -> str | None:
    """Say which line of ``script`` would start the kubelet, as ``line 3: systemctl start kubelet``, or None.

    Found are ``/etc/eks/bootstrap.sh`` (unless ``sed`` edits it), ``nodeadm init``, the kubelet itself, and
    ``systemctl`` or ``service`` starting ``kubelet`` or a ``nodeadm`` unit. Scripts are not parsed: every mention
    outside of a comment counts, in quotes and here-documents too, in any language. A unit in a variable counts where
    the script mentions the kubelet, ``bootstrap.sh`` without a folder where it mentions ``/etc/eks``.
    """
    lines = list(_lines(script))
    mentioned = any(_UNIT.search(line) for _, line in lines)
    in_eks_folder = any("/etc/eks" in line for _, line in lines)
    for number, line in lines:
        called = _CALL.search(_EDITED.sub("", line)) or (in_eks_folder and _IN_EKS_FOLDER.search(line))
        if called or any(_starts_unit(command, mentioned=mentioned) for command in _COMMAND_END.split(line)):
            return f"line {number}: {' '.join(line.split())}"
    return None


def _starts_unit(command: str, *, mentioned: bool) -> bool:
    called = _SYSTEMCTL.search(command)
    if called is None:
        return False
    # One pattern for all would try every pair of words, which takes long on a long line.
    rest = command[called.end() :]
    if not _START.search(rest) and not (_ENABLE.search(rest) and _NOW.search(rest)):
        return False
    return bool(_UNIT.search(command) or (mentioned and _VARIABLE.search(command)))


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
