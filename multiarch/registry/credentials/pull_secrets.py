"""Kubernetes' image pull secrets, matched against an image as in the kubelet.

Source: https://kubernetes.io/docs/concepts/containers/images/#config-json
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from multiarch.errors import MultiarchError
from multiarch.registry.credentials.auths import read_auths
from multiarch.registry.credentials.model import Credential, Credentials
from multiarch.registry.decoding import decode_json
from multiarch.registry.reference import DOCKER_HUB, Reference

DOCKER_CONFIG_JSON = "kubernetes.io/dockerconfigjson"
DOCKER_CFG = "kubernetes.io/dockercfg"
_HUB_HOST = "index.docker.io"
_DATA = {DOCKER_CONFIG_JSON: ".dockerconfigjson", DOCKER_CFG: ".dockercfg"}


class PullSecretError(MultiarchError):
    """An invalid pull secret."""

    def __init__(self, name: str, fault: str) -> None:
        """``name`` is ``NAMESPACE/NAME``; ``fault`` has no full stop and contains no secret."""
        hint = "`kubectl create secret docker-registry` creates a valid one."
        super().__init__(f"Secret {name}: {fault}.", hint=hint)


@dataclass(frozen=True, slots=True)
class _PullSecretEntry:
    """A key's ``host`` and ``path`` as the kubelet reads them, and its credential."""

    host: str
    path: str
    credential: Credential


@dataclass(frozen=True, slots=True)
class PodCredentials:
    """Pull secrets, None if there are none. ``notes`` name the secrets that can't be read, or have no credentials."""

    credentials: Credentials | None = None
    notes: tuple[str, ...] = ()


class PullSecrets:
    """The credentials of several secrets: more specific keys first, then in the secrets' order.

    Source: https://github.com/kubernetes/kubernetes/blob/master/pkg/credentialprovider/keyring.go
    """

    def __init__(self, configurations: Iterable[tuple[str, Mapping[str, object]]]) -> None:
        """``configurations`` are (name, parsed ``.dockerconfigjson``) pairs; ``from_secret`` makes them.

        Raises:
            PullSecretError: one of them is malformed.
        """
        entries: list[_PullSecretEntry] = []
        for name, configuration in configurations:
            try:
                entries += [_entry(*each) for each in read_auths(configuration, f"Secret {name}")]
            except ValueError as error:
                raise PullSecretError(name, str(error)) from None
        self._entries = sorted(entries, key=lambda each: each.host + each.path, reverse=True)

    async def for_repository(self, reference: Reference) -> tuple[Credential, ...]:
        """List credentials whose key matches, most specific first. ``index.docker.io`` is Docker Hub's last resort.

        Only user names and passwords count: the kubelet passes no tokens on.
        """
        matching = [each for each in self._entries if _matches(each, reference)]
        if not matching and reference.registry == DOCKER_HUB:
            matching = [each for each in self._entries if (each.host, each.path) == (_HUB_HOST, "")]
        return tuple(each.credential for each in matching if each.credential.password)


def read_secret(secret: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
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
        content = decode_json(text)
    except ValueError:
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
            return base64.b64decode("".join(str(encoded[key]).split()), validate=True).decode()
        except ValueError:
            raise PullSecretError(name, f"data.{key} is not valid base64 text") from None
    raise PullSecretError(name, f"{key} is missing")


def _entry(key: str, credential: Credential) -> _PullSecretEntry:
    scheme, separator, rest = key.partition("://")
    host, slash, path = (rest if separator and scheme in {"http", "https"} else key).partition("/")
    path = f"{slash}{path}"
    if path.startswith(("/v1/", "/v2/")):
        path = path[3:]
    plain = replace(credential, identity_token="")
    return _PullSecretEntry(host, "" if path == "/" else path, plain)


def _matches(each: _PullSecretEntry, reference: Reference) -> bool:
    """Return whether a key matches: ``*`` within one label of the host, equal ports, and the path as a prefix."""
    pattern, pattern_port = _split_port(each.host)
    host, port = _split_port(reference.registry)
    patterns, labels = pattern.split("."), host.split(".")
    if pattern_port != port or len(patterns) != len(labels) or not f"/{reference.repository}".startswith(each.path):
        return False
    # The kubelet's patterns are those of Go's filepath.Match, which negates with ^.
    return all(fnmatchcase(label, each.replace("[^", "[!")) for each, label in zip(patterns, labels, strict=True))


def _split_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host, ""
    return name.removeprefix("[").removesuffix("]") if name.startswith("[") else name, port
