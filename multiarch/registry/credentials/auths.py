"""The ``auths`` table of docker's configuration and of Kubernetes' image pull secrets.

Source: https://docs.docker.com/reference/cli/docker/login/ and
https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from multiarch.registry.credentials.model import Credential

_KEYS = ("auth", "identitytoken", "password", "username")


def read_auths(configuration: Mapping[str, object], source: str) -> list[tuple[str, Credential]]:
    """Read the entries of a configuration's ``auths`` that hold a secret, in their order: (key as written, credential).

    Null counts as unset. ``source`` is the credentials' source, for messages.

    Raises:
        ValueError: the table is malformed; the message contains no secret.
    """
    table = configuration.get("auths") or {}
    if not isinstance(table, Mapping):
        raise ValueError("auths must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    found = []
    for key, row in table.items():
        try:
            credential = _credential({} if row is None else row, source)
        except ValueError as error:
            raise ValueError(f"auths.{key}: {error}") from None
        if credential.secrets:  # docker writes ``{}`` if it uses a credential store
            found.append((str(key), credential))
    return found


def _credential(row: object, source: str) -> Credential:
    if not isinstance(row, Mapping):
        raise ValueError("the entry must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    # Nobody needs the email, and yet the kubelet decodes no configuration in which it is not a string.
    wrong = [key for key in (*_KEYS, "email") if not isinstance(row.get(key), str | None)]
    if wrong:
        raise ValueError(f"{wrong[0]} must be a string")
    auth, identity, password, user = (str(row.get(key) or "") for key in _KEYS)
    if auth:
        user, password = _decoded(auth)
    return Credential(user, password, identity, source)


def _decoded(auth: str) -> tuple[str, str]:
    """Return user name and password. As in Go, line breaks count for nothing, and the padding may be omitted."""
    text = auth.replace("\r", "").replace("\n", "")
    try:
        padding = "" if text.endswith("=") else "=" * (-len(text) % 4)
        user, colon, password = base64.b64decode(text + padding, validate=True).decode().partition(":")
    except ValueError:
        colon = ""
    if not colon:
        raise ValueError("auth must be the base64 of USER:PASSWORD")
    return user, password.strip("\0")
