"""Kubernetes' image pull secrets, matched against an image as the kubelet does.

Source: https://kubernetes.io/docs/concepts/containers/images/#config-json
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from multiarch.errors import MultiarchError
from multiarch.registry.credentials.auths import entry, place_of
from multiarch.registry.credentials.model import Credential
from multiarch.registry.reference import DOCKER_HUB, Reference

DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson"
DOCKER_CFG = "kubernetes.io/dockercfg"
# The kubelet knows no others for Docker Hub.
_HUB_HOSTS = frozenset({"docker.io", "index.docker.io"})
_DATA = {DOCKER_CONFIG_JSON: ".dockerconfigjson", DOCKER_CFG: ".dockercfg"}


class PullSecretFault(MultiarchError):  # noqa: N818 (what is wrong with an object; it is raised like any error)
    """A Secret that holds no registry credentials: ``name`` is what the caller calls it."""

    def __init__(self, name: str, fault: str) -> None:
        """``fault`` without a full stop and without a secret."""
        hint = "`kubectl create secret docker-registry` makes one that works."
        super().__init__(f"Secret {name}: {fault}.", hint=hint)
        self.name = name
        self.fault = fault


@dataclass(frozen=True, slots=True)
class _Entry:
    host: str
    path: str
    credential: Credential

    @property
    def key(self) -> str:
        return self.host + self.path


class PullSecrets:
    """The credentials of several secrets. More specific keys come first, then the secrets' order."""

    def __init__(self, configurations: Iterable[tuple[str, Mapping[str, object]]]) -> None:
        """Take (name, parsed ``.dockerconfigjson``) pairs; see ``from_secret`` for a Secret object.

        Raises:
            PullSecretFault: one of them is malformed.
        """
        entries = []
        for name, configuration in configurations:
            auths = configuration.get("auths", {})
            if not isinstance(auths, Mapping):
                raise PullSecretFault(name, "auths is no object")
            for key, row in auths.items():
                try:
                    credential = entry(row, f"Secret {name}")
                except ValueError as error:
                    raise PullSecretFault(name, f"auths.{key}: {error}") from None
                if credential is not None:
                    host, path = place_of(str(key))
                    entries.append(_Entry(host, path, credential))
        self._entries = sorted(entries, key=lambda each: each.key, reverse=True)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """All credentials whose key matches, most specific first."""
        return tuple(each.credential for each in self._entries if _matches(each, reference))


def from_secret(secret: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Name (``namespace/name``) and configuration of a Secret object, of the current type or the legacy one.

    ``secret`` is the object as the API has it, with ``data`` in base64 or with ``stringData``.

    Raises:
        PullSecretFault: it is of another type, or its content can't be read.
    """
    metadata = secret.get("metadata")
    names = metadata if isinstance(metadata, Mapping) else {}
    name = "/".join(str(names[key]) for key in ("namespace", "name") if names.get(key)) or "without a name"
    kind = secret.get("type")
    if not isinstance(kind, str) or kind not in _DATA:
        raise PullSecretFault(name, f"its type is {kind!r}, not {DOCKER_CONFIG_JSON} or {DOCKER_CFG}")
    text = _content(name, secret, _DATA[kind])
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise PullSecretFault(name, f"{_DATA[kind]} is no JSON") from None
    if not isinstance(content, dict):
        raise PullSecretFault(name, f"{_DATA[kind]} is no JSON object")
    return name, {"auths": content} if kind == DOCKER_CFG else content


def _content(name: str, secret: Mapping[str, object], key: str) -> str:
    plain, encoded = secret.get("stringData"), secret.get("data")
    if isinstance(plain, Mapping) and isinstance(plain.get(key), str):
        return str(plain[key])
    if isinstance(encoded, Mapping) and isinstance(encoded.get(key), str):
        try:
            return base64.b64decode(str(encoded[key]), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise PullSecretFault(name, f"data.{key} is no base64 of a text") from None
    raise PullSecretFault(name, f"it has no {key}")


def _matches(each: _Entry, reference: Reference) -> bool:
    if reference.registry == DOCKER_HUB and each.host in _HUB_HOSTS:
        return f"/{reference.repository}".startswith(each.path)
    return _host_matches(each.host, reference.registry) and f"/{reference.repository}".startswith(each.path)


def _host_matches(pattern: str, host: str) -> bool:
    """``*.example.com`` is one label and no more; ports are equal, or there is none in both."""
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
