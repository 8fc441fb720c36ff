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

HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
"""Docker Hub's keys in configurations; ``docker login`` writes the first."""


@dataclass(frozen=True, slots=True)
class AuthEntry:
    """One entry: the ``host`` and ``path`` of its key, and its credential."""

    host: str
    path: str
    credential: Credential


def auth_entries(configuration: Mapping[str, object], source: str) -> list[AuthEntry]:
    """The entries of a configuration's ``auths`` that hold a credential, in their order.

    ``source`` is the credentials' source, for messages.

    Raises:
        ValueError: the table is malformed; the message contains no secret.
    """
    table = configuration.get("auths") or {}
    if not isinstance(table, Mapping):
        raise ValueError("auths must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    found = []
    for key, row in table.items():
        try:
            credential = _credential(row, source)
        except ValueError as error:
            raise ValueError(f"auths.{key}: {error}") from None
        if credential is not None:
            found.append(AuthEntry(*split_key(str(key)), credential))
    return found


def split_key(key: str) -> tuple[str, str]:
    """Host and path of a key: ``https://index.docker.io/v1/`` is ``index.docker.io`` and an empty path.

    The scheme is ignored, and so are ``/v1`` and ``/v2``.
    """
    text = key.partition("://")[2] or key
    host, slash, path = text.partition("/")
    path = slash + path
    for version in ("/v1", "/v2"):
        if path == version or path.startswith(f"{version}/"):
            path = path[len(version) :]
    return host, path.rstrip("/")


def _credential(row: object, source: str) -> Credential | None:
    """The credential of one row; None for an empty one (docker writes ``{}`` if it uses a credential store)."""
    if not isinstance(row, Mapping):
        raise ValueError("the entry must be an object")  # noqa: TRY004 (content, not a programmer's mistake)
    texts = {key: row.get(key, "") for key in ("auth", "identitytoken", "password", "registrytoken", "username")}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]} must be a string")
    user, password = texts["username"], texts["password"]
    if texts["auth"]:
        user, password = _decoded(texts["auth"])
    if not (password or texts["identitytoken"] or texts["registrytoken"]):
        return None
    return Credential(user, password, texts["identitytoken"], texts["registrytoken"], source)


def _decoded(auth: str) -> tuple[str, str]:
    try:
        text = base64.b64decode(auth, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError("auth must be the base64 of USER:PASSWORD") from None
    user, colon, password = text.partition(":")
    if not colon:
        raise ValueError("auth must be the base64 of USER:PASSWORD")
    return user, password.strip("\0")
