"""The MIME multipart archive that cloud-init, nodeadm and EKS read.

Sources: cloud-init, "User-data formats"; RFC 2046 section 5.1; nodeadm's ``internal/configprovider/mime.go``; EKS
user guide, "Customize managed nodes with launch templates", which requires this format wherever EKS merges.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from multiarch.nodes.user_data.text import is_plain

_BOUNDARY = "==MULTIARCH=="


def wrap_node_config(document: str) -> str:
    """Make a part for nodeadm. ``document`` is YAML in ASCII: nodeadm does not undo a transfer encoding."""
    return f"Content-Type: application/node.eks.aws\n\n{document}"


def wrap_shell_script(script: str) -> str:
    """Make a part for cloud-init, which runs it. Text that is not :func:`~.text.is_plain` goes through base64."""
    if is_plain(script):
        return f'Content-Type: text/x-shellscript; charset="us-ascii"\n\n{script}'
    encoded = base64.encodebytes(script.encode()).decode()
    head = 'Content-Type: text/x-shellscript; charset="utf-8"\nContent-Transfer-Encoding: base64'
    return f"{head}\n\n{encoded}"


def join_parts(parts: Sequence[str]) -> str:
    """Join parts into an archive; the empty string for no parts. The boundary does not occur in any of them."""
    if not parts:
        return ""
    boundary, number = _BOUNDARY, 0
    while any(boundary in part for part in parts):
        number += 1
        boundary = f"==MULTIARCH-{number}=="
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{boundary}"', ""]
    for part in parts:
        # The line feed before a boundary belongs to the boundary, so the content keeps its last one.
        lines += [f"--{boundary}", part]
    return "\n".join([*lines, f"--{boundary}--", ""])
