"""The servers of a registry: the origin, and the mirrors in containerd's ``hosts.toml``.

Source: https://github.com/containerd/containerd/blob/main/docs/hosts.md
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from multiarch.errors import MultiarchError
from multiarch.files import read_text
from multiarch.registry.reference import DOCKER_HUB
from multiarch.registry.settings import RegistrySettings

HUB_HOST = "registry-1.docker.io"
"""Where Docker Hub's API is."""

_CAPABILITIES = ("pull", "resolve", "push")
_KEYS = {"capabilities", "ca", "client", "dial_timeout", "header", "override_path", "skip_verify"}
_NOT_SUPPORTED = {"client": "client certificates are not supported"}


class HostsFileError(MultiarchError):
    """An invalid ``hosts.toml``: the file, the key, the fault."""

    def __init__(self, file: Path, fault: str) -> None:
        """``fault`` without a full stop."""
        super().__init__(
            f"{file}: {fault}.",
            hint="See https://github.com/containerd/containerd/blob/main/docs/hosts.md for the format.",
        )
        self.file = file
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of the distribution API.

    ``host`` is ``host`` or ``host:port``; ``path`` is the API's root, ``/v2`` unless overridden; ``scheme`` None means
    that plain HTTP is allowed and the scheme must be detected. ``resolve`` allows resolving tags, ``pull`` reading by
    digest. ``namespace`` is the registry that a mirror stands in for.
    """

    host: str
    path: str = "/v2"
    scheme: str | None = "https"
    resolve: bool = True
    pull: bool = True
    namespace: str | None = None
    ca_files: tuple[Path, ...] = ()
    verify: bool = True
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def endpoints_of(registry: str, settings: RegistrySettings) -> tuple[Endpoint, ...]:
    """The servers of ``registry`` in the order to try; the last one is the origin. Reads ``settings.mirrors``.

    Raises:
        HostsFileError: the registry's ``hosts.toml`` is invalid.
    """
    origin = _origin(registry, settings)
    if settings.mirrors is None:
        return (origin,)
    for name in _folders(registry):
        file = settings.mirrors / name / "hosts.toml"
        if (text := _text(file)) is not None:
            return _read(file, text, registry, origin)
    return (origin,)


def _origin(registry: str, settings: RegistrySettings) -> Endpoint:
    if registry == DOCKER_HUB:
        return Endpoint(HUB_HOST)
    return Endpoint(registry, scheme=None if settings.allows_plain_http(registry) else "https")


def _folders(registry: str) -> tuple[str, ...]:
    host, colon, port = registry.rpartition(":")
    # Some file systems allow no colon in names.
    return (f"{host}_{port}_", registry, "_default") if colon and port.isdigit() else (registry, "_default")


def _text(file: Path) -> str | None:
    try:
        return read_text(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise HostsFileError(file, f"can't read the file ({reason})") from error


def _read(file: Path, text: str, registry: str, origin: Endpoint) -> tuple[Endpoint, ...]:
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HostsFileError(file, f"invalid TOML ({error})") from error
    hosts = content.pop("host", {})
    if not isinstance(hosts, dict):
        raise HostsFileError(file, "host must be a table")
    found = []
    for url, row in hosts.items():
        if "@" in url:  # not shown: it may contain a password
            raise HostsFileError(file, "host: the URL must not contain credentials")
        if not isinstance(row, dict):
            raise HostsFileError(file, f'host."{url}" must be a table')
        found.append(_endpoint(file, f'host."{url}"', url, row, registry))
    server = content.pop("server", None)
    if server is not None and not isinstance(server, str):
        raise HostsFileError(file, "server must be a string")
    if server:
        last = _endpoint(file, "server", server, content, registry)
    else:
        last = replace(_endpoint(file, "", f"https://{origin.host}", content, registry), scheme=origin.scheme)
    return (*found, last)


def _endpoint(file: Path, key: str, url: str, row: Mapping[str, object], registry: str) -> Endpoint:
    # The server's keys are at the top level of the file.
    dot = f"{key}." if key.startswith("host") else ""
    for name in sorted(row):
        if name in _NOT_SUPPORTED:
            raise HostsFileError(file, f"{dot}{name}: {_NOT_SUPPORTED[name]}")
        if name not in _KEYS:
            raise HostsFileError(file, f"unknown key {dot}{name}")
    allowed = _strings(file, f"{dot}capabilities", row.get("capabilities", list(_CAPABILITIES)))
    for each in allowed:
        if each not in _CAPABILITIES:
            raise HostsFileError(file, f"{dot}capabilities: {each!r} is not one of {', '.join(_CAPABILITIES)}")
    scheme, host, path = _address(file, key, url, override=_flag(file, dot, "override_path", row))
    is_origin = host == registry or (registry == DOCKER_HUB and host == HUB_HOST)
    return Endpoint(
        host=host,
        path=path,
        scheme=scheme,
        resolve="resolve" in allowed,
        pull="pull" in allowed,
        namespace=None if is_origin else registry,
        # Relative paths are relative to the file.
        ca_files=tuple(file.parent / name for name in _strings(file, f"{dot}ca", row.get("ca", []))),
        verify=not _flag(file, dot, "skip_verify", row),
        headers=_headers(file, dot, row.get("header", {})),
    )


def _address(file: Path, key: str, url: str, *, override: bool) -> tuple[str, str, str]:
    if "://" not in url:
        url = f"https://{url}"
    if "@" in url:  # not shown: it may contain a password
        raise HostsFileError(file, f"{key}: the URL must not contain credentials")
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise HostsFileError(file, f"{key}: invalid URL {url!r} ({error})") from error
    if parts.scheme not in {"https", "http"} or not parts.netloc or parts.query or parts.fragment:
        raise HostsFileError(file, f"{key}: {url!r} must be an https:// or http:// URL without query")
    path = parts.path.rstrip("/")
    if not override and not path.endswith("/v2"):
        path = f"{path}/v2"
    return parts.scheme, parts.netloc, path


def _strings(file: Path, key: str, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise HostsFileError(file, f"{key} must be a list of strings")
    return tuple(values)


def _flag(file: Path, dot: str, key: str, row: Mapping[str, object]) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise HostsFileError(file, f"{dot}{key} must be true or false")
    return value


def _headers(file: Path, dot: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise HostsFileError(file, f"{dot}header must be a table")
    found = []
    for name, content in value.items():
        for each in _strings(file, f"{dot}header.{name}", content):
            if not name.isascii() or not each.isprintable() or not name.replace("-", "").isalnum():
                raise HostsFileError(file, f"{dot}header.{name} is not a valid HTTP header")
            found.append((name, each))
    return tuple(found)
