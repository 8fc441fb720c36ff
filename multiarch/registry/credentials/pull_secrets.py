"""Kubernetes' image pull secrets, matched against an image as in the kubelet.

Source: https://kubernetes.io/docs/concepts/containers/images/#config-json
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from multiarch.errors import MultiarchError
from multiarch.registry.credentials.auths import AuthEntry, auth_entries
from multiarch.registry.credentials.model import Credential
from multiarch.registry.reference import DOCKER_HUB, Reference

DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson"
DOCKER_CFG = "kubernetes.io/dockercfg"
# The only keys that the kubelet uses for Docker Hub.
_HUB_HOSTS = frozenset({"docker.io", "index.docker.io"})
_DATA = {DOCKER_CONFIG_JSON: ".dockerconfigjson", DOCKER_CFG: ".dockercfg"}


class PullSecretError(MultiarchError):
    """An invalid pull secret; ``name`` is ``NAMESPACE/NAME``."""

    def __init__(self, name: str, fault: str) -> None:
        """``fault`` has no full stop and contains no secret."""
        hint = "`kubectl create secret docker-registry` creates a valid one."
        super().__init__(f"Secret {name}: {fault}.", hint=hint)
        self.name = name
        self.fault = fault


class PullSecrets:
    """The credentials of several secrets: more specific keys first, then in the secrets' order."""

    def __init__(self, configurations: Iterable[tuple[str, Mapping[str, object]]]) -> None:
        """``configurations`` are (name, parsed ``.dockerconfigjson``) pairs; ``from_secret`` makes them.

        Raises:
            PullSecretError: one of them is malformed.
        """
        entries: list[AuthEntry] = []
        for name, configuration in configurations:
            try:
                entries += auth_entries(configuration, f"Secret {name}")
            except ValueError as error:
                raise PullSecretError(name, str(error)) from None
        self._entries = sorted(entries, key=lambda each: each.host + each.path, reverse=True)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """All credentials whose key matches, most specific first."""
        return tuple(each.credential for each in self._entries if _matches(each, reference))


def from_secret(secret: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Name (``NAMESPACE/NAME``) and configuration of a Secret object, of the current type or the legacy one.

    ``secret`` is the API's object, with ``data`` in base64 or with ``stringData``.

    Raises:
        PullSecretError: it has another type, or its content can't be read.
    """
    metadata = secret.get("metadata")
    names = metadata if isinstance(metadata, Mapping) else {}
    name = "/".join(str(names[key]) for key in ("namespace", "name") if names.get(key)) or "(no name)"
    kind = secret.get("type")
    if not isinstance(kind, str) or kind not in _DATA:
        raise PullSecretError(name, f"its type must be {DOCKER_CONFIG_JSON} or {DOCKER_CFG}, not {kind!r}")
    text = _content(name, secret, _DATA[kind])
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise PullSecretError(name, f"{_DATA[kind]} is not JSON") from None
    if not isinstance(content, dict):
        raise PullSecretError(name, f"{_DATA[kind]} is not a JSON object")
    return name, {"auths": content} if kind == DOCKER_CFG else content


def _content(name: str, secret: Mapping[str, object], key: str) -> str:
    plain, encoded = secret.get("stringData"), secret.get("data")
    if isinstance(plain, Mapping) and isinstance(plain.get(key), str):
        return str(plain[key])
    if isinstance(encoded, Mapping) and isinstance(encoded.get(key), str):
        try:
            return base64.b64decode(str(encoded[key]), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise PullSecretError(name, f"data.{key} is not valid base64 text") from None
    raise PullSecretError(name, f"{key} is missing")


def _matches(each: AuthEntry, reference: Reference) -> bool:
    if reference.registry == DOCKER_HUB and each.host in _HUB_HOSTS:
        return f"/{reference.repository}".startswith(each.path)
    return _host_matches(each.host, reference.registry) and f"/{reference.repository}".startswith(each.path)


def _host_matches(pattern: str, host: str) -> bool:
    """``*`` matches within one label; the ports must be equal, or absent in both."""
    if pattern == host:
        return True
    pattern, pattern_port = _split_port(pattern)
    host, port = _split_port(host)
    patterns, labels = pattern.split("."), host.split(".")
    if pattern_port != port or len(patterns) != len(labels):
        return False
    return all(fnmatchcase(label, _glob(each)) for each, label in zip(patterns, labels, strict=True))


def _glob(pattern: str) -> str:
    # Go negates a class with ^, Python with !.
    return pattern.replace("[^", "[!")


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and port.isdigit() else (host, "")
