"""Which servers answer for a registry: itself, and the mirrors that containerd's ``hosts.toml`` names.

Source: https://github.com/containerd/containerd/blob/main/docs/hosts.md
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from multiarch.errors import MultiarchError
from multiarch.registry.reference import DOCKER_HUB
from multiarch.registry.settings import RegistrySettings

HUB_HOST = "registry-1.docker.io"
"""Where Docker Hub's API is."""

_CAPABILITIES = ("pull", "resolve", "push")
_KEYS = {"capabilities", "ca", "client", "dial_timeout", "header", "override_path", "skip_verify"}
_NOT_SUPPORTED = {"client": "client certificates are not supported"}


class MirrorFault(MultiarchError):  # noqa: N818 (what is wrong with a file; it is raised like any error)
    """A ``hosts.toml`` that can't be used: which file, which key, what is wrong."""

    def __init__(self, file: Path, fault: str) -> None:
        """``fault`` without a full stop."""
        super().__init__(f"{file}: {fault}.", hint="containerd's documentation of hosts.toml says what may be there.")
        self.file = file
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of the distribution API.

    ``host`` is ``host`` or ``host:port``; ``path`` is the API's root, ``/v2`` unless overridden; ``scheme`` None means
    that plain HTTP is allowed and has to be found out. ``resolve`` is the permission to say what a tag points at,
    ``pull`` to hand out what a digest names. ``namespace`` is the registry that it stands in for, if it is a mirror.
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
    """The servers to ask for ``registry``, in order; the last one is the origin. Reads ``settings.mirrors``.

    Raises:
        MirrorFault: the registry's ``hosts.toml`` can't be used.
    """
    origin = _origin(registry, settings)
    if settings.mirrors is None:
        return (origin,)
    for name in _folders(registry):
        folder = settings.mirrors / name
        file = folder / "hosts.toml"
        if file.is_file():
            return _read(file, registry, origin)
        certificates = tuple(sorted(folder.glob("*.crt")))
        if certificates:  # the older layout, which is docker's
            return (replace(origin, ca_files=certificates),)
    return (origin,)


def _origin(registry: str, settings: RegistrySettings) -> Endpoint:
    if registry == DOCKER_HUB:
        return Endpoint(HUB_HOST)
    return Endpoint(registry, scheme=None if settings.allows_plain_http(registry) else "https")


def _folders(registry: str) -> tuple[str, ...]:
    host, colon, port = registry.rpartition(":")
    # A colon can't be in the name of a folder everywhere.
    return (f"{host}_{port}_", registry, "_default") if colon and port.isdigit() else (registry, "_default")


def _read(file: Path, registry: str, origin: Endpoint) -> tuple[Endpoint, ...]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise MirrorFault(file, f"it can't be read ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise MirrorFault(file, f"it is no TOML ({error})") from error
    hosts = content.pop("host", {})
    if not isinstance(hosts, dict):
        raise MirrorFault(file, "host is no table")
    found = []
    for url, row in hosts.items():
        if "@" in url:  # not shown: it may be a password
            raise MirrorFault(file, "host: credentials have no place in a URL")
        if not isinstance(row, dict):
            raise MirrorFault(file, f'host."{url}" is no table')
        found.append(_endpoint(file, f'host."{url}"', url, row, registry))
    server = content.pop("server", None)
    if server is not None and not isinstance(server, str):
        raise MirrorFault(file, "server is no text")
    if server:
        last = _endpoint(file, "server", server, content, registry)
    else:
        last = replace(_endpoint(file, "", f"https://{origin.host}", content, registry), scheme=origin.scheme)
    return (*found, last)


def _endpoint(file: Path, place: str, url: str, row: Mapping[str, object], registry: str) -> Endpoint:
    # The keys of the server stand at the top of the file.
    dot = f"{place}." if place.startswith("host") else ""
    for key in sorted(row):
        if key in _NOT_SUPPORTED:
            raise MirrorFault(file, f"{dot}{key}: {_NOT_SUPPORTED[key]}")
        if key not in _KEYS:
            raise MirrorFault(file, f"{dot}{key} is unknown here")
    allowed = _texts(file, f"{dot}capabilities", row.get("capabilities", list(_CAPABILITIES)))
    for name in allowed:
        if name not in _CAPABILITIES:
            raise MirrorFault(file, f"{dot}capabilities: {name!r} is none of {', '.join(_CAPABILITIES)}")
    scheme, host, path = _address(file, place, url, override=_flag(file, dot, "override_path", row))
    is_origin = host == registry or (registry == DOCKER_HUB and host == HUB_HOST)
    return Endpoint(
        host=host,
        path=path,
        scheme=scheme,
        resolve="resolve" in allowed,
        pull="pull" in allowed,
        namespace=None if is_origin else registry,
        # What is not absolute is beside the file.
        ca_files=tuple(file.parent / name for name in _texts(file, f"{dot}ca", row.get("ca", []))),
        verify=not _flag(file, dot, "skip_verify", row),
        headers=_headers(file, dot, row.get("header", {})),
    )


def _address(file: Path, place: str, url: str, *, override: bool) -> tuple[str, str, str]:
    if "://" not in url:
        url = f"https://{url}"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is no number
    except ValueError as error:
        raise MirrorFault(file, f"{place}: {url!r} is no URL ({error})") from error
    if parts.scheme not in {"https", "http"} or not parts.netloc or parts.query or parts.fragment:
        raise MirrorFault(file, f"{place}: {url!r} is no https:// or http:// URL of a registry")
    if "@" in parts.netloc:
        raise MirrorFault(file, f"{place}: credentials have no place in a URL")
    path = parts.path.rstrip("/")
    if not override and not path.endswith("/v2"):
        path = f"{path}/v2"
    return parts.scheme, parts.netloc, path


def _texts(file: Path, place: str, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise MirrorFault(file, f"{place} is no list of texts")
    return tuple(values)


def _flag(file: Path, dot: str, key: str, row: Mapping[str, object]) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise MirrorFault(file, f"{dot}{key} is neither true nor false")
    return value


def _headers(file: Path, dot: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict):
        raise MirrorFault(file, f"{dot}header is no table")
    found = []
    for name, content in value.items():
        for each in _texts(file, f"{dot}header.{name}", content):
            if not name.isascii() or not each.isprintable() or not name.replace("-", "").isalnum():
                raise MirrorFault(file, f"{dot}header.{name} is no HTTP header")
            found.append((name, each))
    return tuple(found)
