"""The ``auths`` table that docker's configuration and Kubernetes' pull secrets share.

Source: https://docs.docker.com/reference/cli/docker/login/ and
https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from multiarch.registry.credentials.model import Credential

HUB_KEYS = ("https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io")
"""What Docker Hub is called in configurations; ``docker login`` writes the first."""


def place_of(key: str) -> tuple[str, str]:
    """A key of ``auths`` as host and path: ``https://index.docker.io/v1/`` is ``index.docker.io`` and nothing.

    The scheme does not count, nor do ``/v1`` and ``/v2``.
    """
    text = key.partition("://")[2] or key
    host, slash, path = text.partition("/")
    path = slash + path
    for version in ("/v1", "/v2"):
        if path == version or path.startswith(f"{version}/"):
            path = path[len(version) :]
    return host, path.rstrip("/")


def entry(row: object, source: str) -> Credential | None:
    """One row of ``auths``; None if it holds no credential (docker writes ``{}`` beside a credential store).

    Raises:
        ValueError: the row is malformed; the words hold no secret.
    """
    if not isinstance(row, Mapping):
        raise ValueError("the entry is no object")  # noqa: TRY004 (content, not a programmer's mistake)
    texts = {key: row.get(key, "") for key in ("auth", "identitytoken", "password", "registrytoken", "username")}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]} is no text")
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
        raise ValueError("auth is no base64 of USER:PASSWORD") from None
    user, colon, password = text.partition(":")
    if not colon:
        raise ValueError("auth is no base64 of USER:PASSWORD")
    return user, password.strip("\0")
