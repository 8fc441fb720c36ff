"""The ``auths`` table of docker's configuration and of Kubernetes' image pull secrets.

Source: https://docs.docker.com/reference/cli/docker/login/ and
https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from multiarch.registry.credentials.model import Credential
from multiarch.registry.decoding import json_field

_KEYS = ("auth", "identitytoken", "password", "registrytoken", "username")


@dataclass(frozen=True, slots=True)
class AuthEntry:
    """One entry: its ``key`` as written, and its credential."""

    key: str
    credential: Credential


def auth_entries(configuration: Mapping[str, object], source: str) -> list[AuthEntry]:
    """The entries of a configuration's ``auths`` that hold a secret, in their order.

    Null counts as unset. ``source`` is the credentials' source, for messages.

    Raises:
        ValueError: the table is malformed; the message contains no secret.
    """
    table = json_field(configuration, "auths") or {}
    if not isinstance(table, Mapping):
        raise ValueError("auths must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    found = []
    for key, row in table.items():
        try:
            credential = _credential(row, source)
        except ValueError as error:
            raise ValueError(f"auths.{key}: {error}") from None
        if credential is not None:
            found.append(AuthEntry(str(key), credential))
    return found


def _credential(row: object, source: str) -> Credential | None:
    """The credential of one row; None for an empty one (docker writes ``{}`` if it uses a credential store)."""
    if row is None:
        return None
    if not isinstance(row, Mapping):
        raise ValueError("the entry must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    texts = {key: json_field(row, key) for key in _KEYS}
    wrong = [key for key, value in texts.items() if not isinstance(value, str | None)]
    if wrong:
        raise ValueError(f"{wrong[0]} must be a string")
    auth, identity, password, bearer, user = (str(value or "") for value in texts.values())
    if auth:
        user, password = _decoded(auth)
    if not (password or identity or bearer):
        return None
    return Credential(user, password, identity, bearer, source)


def _decoded(auth: str) -> tuple[str, str]:
    """User name and password. As in Go, line breaks count for nothing, and the padding may be left out."""
    text = auth.replace("\r", "").replace("\n", "")
    try:
        pair = base64.b64decode(text if text.endswith("=") else text + "=" * (-len(text) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        raise ValueError("auth must be the base64 of USER:PASSWORD") from None
    user, colon, password = pair.partition(":")
    if not colon:
        raise ValueError("auth must be the base64 of USER:PASSWORD")
    return user, password.strip("\0")
