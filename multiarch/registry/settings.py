"""Settings of the client: deadlines, limits, trust."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from multiarch.registry.egress import EgressPolicy, is_for_instances, parse_address

__all__ = ["RegistrySettings"]

MIB = 1024 * 1024
REMEMBERED = 4096
"""Entries in each of a client's tables (hosts, repositories); the least recently used are dropped."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Settings of a client. Times in seconds, sizes in bytes.

    ``concurrency`` is the number of requests to one host at the same time. ``total_seconds`` bounds one manifest, blob
    or list of tags with all its retries, and all requests inside of ``operation.one_image``; ``stream_seconds`` bounds
    a stream. ``read_seconds`` is the longest wait for data.
    ``retries`` and ``backoff_seconds`` are those of ``multiarch.retries.RetryPolicy``.

    ``plain_http`` names hosts (``host`` or ``host:port``) that may use plain HTTP; without ``egress`` loopback
    addresses always may. ``ca_files`` are PEM files trusted in addition to the system's. ``mirrors`` is a folder like
    containerd's ``certs.d``. ``proxies`` follows ``HTTPS_PROXY``, ``HTTP_PROXY`` and ``NO_PROXY``.

    ``egress`` is for images whose names come from people who are not trusted: which servers may be connected to;
    without it, all but link-local addresses. With a proxy only names are checked: the proxy resolves them, and has to
    reject addresses of its own network.

    ``manifest_limit`` and ``blob_limit`` are the maximum bytes of a manifest and of a config, ``values_limit`` the
    maximum number of values in one of them, as :func:`count_values` counts them; ``requests_limit`` is that of all
    requests for one image, with redirects, retries and tokens.

    An unreachable host is not tried again for ``down_seconds``, so that a thousand images of one registry fail as
    fast as one. ``memory_bytes`` of manifests, and as much of configs, are remembered by digest.
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
    egress: EgressPolicy | None = None
    proxies: bool = True
    down_seconds: float = 30.0
    # Source: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-manifests (4 MiB)
    manifest_limit: int = 4 * MIB
    blob_limit: int = 4 * MIB
    memory_bytes: int = 64 * MIB
    values_limit: int = 250_000
    requests_limit: int = 1000
    tags_limit: int = 50_000
    user_agent: str = field(default="multiarch-eks")

    def names(self, host: str) -> bool:
        """Return whether ``plain_http`` names ``host``, with or without its port."""
        return host in self.plain_http or get_host_name(host) in self.plain_http

    def allows_plain_http(self, host: str, *, named_by: str | None = None) -> bool:
        """Return whether ``host`` (with or without a port) may use plain HTTP.

        ``named_by`` is the server that names it, in a redirect or as its token server. Only servers on loopback may
        name one on loopback: from elsewhere, ``localhost`` is this machine, where any program may listen. With
        ``egress`` both must be in ``plain_http``: others could have any path of such a server requested.
        """
        if self.egress is not None:
            return self.names(host) and (named_by is None or self.names(named_by))
        if self.names(host):
            return True
        return is_loopback(host) and (named_by is None or is_loopback(named_by))


def get_host_name(host: str) -> str:
    """Return ``host`` without its port; an IPv6 address without its brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_link_local(host: str) -> bool:
    """Return whether ``host`` is a link-local address, or one of AWS's for instances: metadata and credentials.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
    """
    address = parse_address(host if host.count(":") > 1 and not host.startswith("[") else get_host_name(host))
    return address is not None and is_for_instances(address)


def count_values(content: bytes | bytearray) -> int:
    """Return the maximum number of values that a JSON document can have. Takes a millisecond per MiB."""
    return sum(content.count(mark) for mark in (b",", b"[", b"{"))


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is ``localhost``, in 127.0.0.0/8 or ``::1``. Does not resolve names."""
    name = get_host_name(host)
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
