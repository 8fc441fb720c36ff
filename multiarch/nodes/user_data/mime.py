"""The MIME multipart archive that cloud-init, nodeadm and EKS read.

Sources: cloud-init, "User-data formats"; RFC 2046 section 5.1; nodeadm's ``internal/configprovider/mime.go``; EKS
user guide, "Customize managed nodes with launch templates", which asks for this format wherever EKS merges.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from multiarch.nodes.user_data.text import is_plain

_BOUNDARY = "==MULTIARCH=="


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its headers without the final empty line, and its content as in the archive."""

    headers: tuple[str, ...]
    content: str


def node_config(document: str) -> Part:
    """Wrap a NodeConfig for nodeadm. ``document`` is YAML in ASCII: nodeadm does not undo a transfer encoding."""
    return Part(("Content-Type: application/node.eks.aws",), document)


def shell_script(script: str) -> Part:
    """Wrap a script that cloud-init runs. Text that is not :func:`~.text.is_plain` goes through base64."""
    if is_plain(script):
        return Part(('Content-Type: text/x-shellscript; charset="us-ascii"',), script)
    encoded = base64.encodebytes(script.encode()).decode()
    return Part(('Content-Type: text/x-shellscript; charset="utf-8"', "Content-Transfer-Encoding: base64"), encoded)


def multipart(parts: Sequence[Part]) -> str:
    """Join parts into an archive; the empty string for no parts. The boundary does not occur in any of them."""
    if not parts:
        return ""
    boundary, number = _BOUNDARY, 0
    while any(boundary in part.content for part in parts):
        number += 1
        boundary = f"==MULTIARCH-{number}=="
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    for part in parts:
        # The line feed before a boundary belongs to the boundary, so the content keeps its last one.
        lines += [f"--{boundary}", *part.headers, "", part.content]
    return "\n".join([*lines, f"--{boundary}--", ""])
