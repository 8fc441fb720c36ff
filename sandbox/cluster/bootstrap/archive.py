"""The parts of user data: a MIME archive, or one document that is not in an archive.

Sources: cloud-init, "User-data formats"; nodeadm, ``internal/configprovider/mime.go``.
"""

from __future__ import annotations

from email import message_from_string

from sandbox.cluster.bootstrap.model import NodeStartError

SHELL_SCRIPT = "text/x-shellscript"
NODE_CONFIG = "application/node.eks.aws"


def is_archive(user_data: str) -> bool:
    """Whether the user data begins with MIME headers."""
    return user_data.lstrip().lower().startswith(("mime-version:", "content-type:"))


def parts(user_data: str, content_type: str) -> list[str]:
    """The parts of an archive that have this content type, decoded, in their order.

    Raises NodeStartError for a broken archive.
    """
    every = list(message_from_string(user_data.lstrip()).walk())  # the archive, then its parts
    faults = sorted({type(defect).__name__ for each in every for defect in each.defects})
    if faults or len(every) == 1:
        reason = ", ".join(faults) or "it has no parts"
        raise NodeStartError(f"The user data is a broken MIME archive ({reason}). The node does not join.")
    payloads = [each.get_payload(decode=True) for each in every if each.get_content_type() == content_type]
    return [payload.decode(errors="replace") for payload in payloads if isinstance(payload, bytes)]
