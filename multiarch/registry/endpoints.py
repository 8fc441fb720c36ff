"""The servers of a registry: the origin, and the mirrors in containerd's ``hosts.toml``.

Source: https://github.com/containerd/containerd/blob/main/docs/hosts.md
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from multiarch.errors import MultiarchError
from multiarch.files import read_text
from multiarch.registry.reference import DOCKER_HUB
from multiarch.registry.settings import RegistrySettings

HUB_HOST = "registry-1.docker.io"
"""Where Docker Hub's API is."""


class _Host(BaseModel):
    """The keys of a server. Client certificates and headers are not supported."""

    model_config = ConfigDict(extra="forbid", strict=True)

    capabilities: list[Literal["pull", "resolve", "push"]] = ["pull", "resolve"]
    ca: list[str] | str = []
    dial_timeout: str = ""
    override_path: bool = False
    skip_verify: bool = False


class _HostsFile(_Host):
    server: str = ""
    host: dict[str, _Host] = {}


class HostsFileError(MultiarchError):
    """An invalid ``hosts.toml``: the file, the key, the fault."""

    def __init__(self, file: Path, fault: str) -> None:
        """``fault`` without a full stop."""
        super().__init__(
            f"{file}: {fault}.",
            hint="See https://github.com/containerd/containerd/blob/main/docs/hosts.md for the format.",
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of the distribution API.

    ``host`` is ``host`` or ``host:port``; ``path`` is the API's root, ``/v2`` unless overridden; ``scheme`` None means
    that plain HTTP is allowed and the scheme must be detected. ``namespace`` is the registry that a mirror stands in
    for.
    """

    host: str
    path: str = "/v2"
    scheme: str | None = "https"
    namespace: str | None = None
    ca_files: tuple[Path, ...] = ()
    verify: bool = True


def list_endpoints(registry: str, settings: RegistrySettings) -> tuple[Endpoint, ...]:
    """Return the servers of ``registry`` in the order to try, the origin last. Reads ``settings.mirrors``.

    A mirror that may not resolve tags as well as serve content is omitted.

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
        content = _HostsFile.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HostsFileError(file, f"invalid TOML ({error})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        if "@" in key:  # not shown: it may contain a password
            raise HostsFileError(file, "the URL must not contain credentials") from None
        unknown = first["type"] == "extra_forbidden"
        raise HostsFileError(file, f"{key}: {'the key is not supported' if unknown else first['msg']}") from None
    mirrors = [
        _endpoint(file, f'host."{url}"', url, row, registry)
        for url, row in content.host.items()
        if {"pull", "resolve"} <= set(row.capabilities)
    ]
    if content.server:
        last = _endpoint(file, "server", content.server, content, registry)
    else:
        last = replace(_endpoint(file, "", f"https://{origin.host}", content, registry), scheme=origin.scheme)
    return (*mirrors, last)


def _endpoint(file: Path, key: str, url: str, row: _Host, registry: str) -> Endpoint:
    scheme, host, path = _address(file, key, url, override=row.override_path)
    is_origin = host == registry or (registry == DOCKER_HUB and host == HUB_HOST)
    return Endpoint(
        host=host,
        path=path,
        scheme=scheme,
        namespace=None if is_origin else registry,
        # Relative paths are relative to the file.
        ca_files=tuple(file.parent / name for name in ([row.ca] if isinstance(row.ca, str) else row.ca)),
        verify=not row.skip_verify,
    )


def _address(file: Path, key: str, url: str, *, override: bool) -> tuple[str, str, str]:
    if "://" not in url:
        url = f"https://{url}"
    if "@" in url:  # not shown: it may contain a password
        raise HostsFileError(file, "the URL must not contain credentials")
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
