"""Checks that every family makes, each in its own way."""

from __future__ import annotations

import base64
import binascii

from sandbox.cluster.bootstrap.model import NodeStartError


def checked_certificate(text: str, who: str) -> str:
    """The certificate authority as it is written. Raises NodeStartError if it is not base64; ``who`` decodes it."""
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NodeStartError(
            f"The cluster's certificate authority is not base64 ({error}): {who} stops, and the node does not join."
        ) from error
    return text
