"""How the client behaves: deadlines, limits, trust."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Everything about a client that somebody may want different. Times in seconds, sizes in bytes.

    ``concurrency`` is the number of requests to one host at the same time. ``total_seconds`` bounds one manifest, blob
    or page of tags with all its retries, not the wait for a free place among ``concurrency``; ``stream_seconds``
    bounds a stream. ``read_seconds`` is the longest silence. ``retries`` come after the first attempt and wait
    ``backoff_seconds``, twice as long each time, with jitter.

    ``plain_http`` names hosts (``host`` or ``host:port``) that may be spoken to without TLS; loopback addresses
    always may. ``ca_files`` are PEM files that are trusted besides the system's. ``mirrors`` is a folder as
    containerd's ``certs.d``. ``proxies`` follows ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``.

    A host that could not be connected to is not tried again for ``down_seconds``: a thousand images of a registry
    that is gone take no longer than one.

    A tag's digest is believed for ``fresh_seconds``, then asked for again with a HEAD.
    """

    concurrency: int = 32
    connect_seconds: float = 10.0
    read_seconds: float = 30.0
    total_seconds: float = 60.0
    stream_seconds: float = 1800.0
    retries: int = 3
    backoff_seconds: float = 0.3
    redirects: int = 5
    plain_http: frozenset[str] = frozenset()
    ca_files: tuple[Path, ...] = ()
    mirrors: Path | None = None
    proxies: bool = True
    fresh_seconds: float = 300.0
    down_seconds: float = 30.0
    # Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests (4 MiB)
    manifest_limit: int = 4 * MIB
    tags_limit: int = 50_000
    user_agent: str = field(default="multiarch-eks")

    def allows_plain_http(self, host: str) -> bool:
        """Whether ``host`` (with or without a port) may be spoken to without TLS."""
        return host in self.plain_http or host_name(host) in self.plain_http or is_loopback(host)


def host_name(host: str) -> str:
    """``host`` without its port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine by its name alone: ``localhost``, 127.0.0.0/8 or ``::1``. Asks no DNS."""
    name = host_name(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
