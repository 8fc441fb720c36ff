"""What the readers of all AMI families share: parts of an archive, merged documents.

Sources: cloud-init, "User-data formats"; nodeadm, ``internal/configprovider/mime.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from email import message_from_string
from typing import Any

from sandbox.cluster.bootstrap.model import NodeStartError


def read_parts(user_data: str, content_type: str) -> list[str]:
    """Return the parts of an archive that have this content type, or the user data itself if it is no archive.

    Raises NodeStartError for a broken archive.
    """
    if not user_data.lstrip().lower().startswith(("mime-version:", "content-type:")):
        return [user_data]
    every = list(message_from_string(user_data.lstrip()).walk())  # the archive, then its parts
    faults = sorted({type(defect).__name__ for each in every for defect in each.defects})
    if faults or len(every) == 1:
        reason = ", ".join(faults) or "it has no parts"
        raise NodeStartError(f"The user data is a broken MIME archive ({reason}). The node does not join.")
    payloads = [each.get_payload(decode=True) for each in every if each.get_content_type() == content_type]
    return [payload.decode(errors="replace") for payload in payloads if isinstance(payload, bytes)]


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``under`` with the values of ``over``; mappings in both are merged, lists replaced."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result
