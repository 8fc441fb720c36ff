"""DNS resolution for the connection pool: only addresses that may be connected to leave it."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from cachetools import LRUCache

from multiarch.registry.egress import EgressPolicy, RejectedAddressError, Rejection, normalise_name
from multiarch.registry.settings import REMEMBERED, is_link_local
from multiarch.threads import DaemonThreads

_AT_ONCE = 64
_PER_DOMAIN = 4
"""Names below one domain that are resolved at the same time: a DNS server that does not answer keeps no others back."""
_FLAGS, _LOOK_UP = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV, socket.AI_ADDRCONFIG


class OperatorResolver(aiohttp.ThreadedResolver):
    """The system's resolver, without names of link-local addresses: see :func:`is_link_local`."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of ``host``. Raises OSError if there are none to connect to."""
        found = await super().resolve(host, port, family)
        if allowed := [each for each in found if not is_link_local(each["host"])]:
            return allowed
        raise OSError(f"{host} is a link-local address")


class BoundedResolver(AbstractResolver):
    """The system's resolver, for names that people who are not trusted choose.

    It omits the addresses that the policy rejects. Names are resolved without the search domains of the pod, in
    which ``argocd-server.argocd`` is a Service. The operator's own (``named``) are resolved as every name in the pod,
    with its search domains and ``/etc/hosts``.
    """

    def __init__(self, policy: EgressPolicy, named: Callable[[str], bool]) -> None:
        """Start no thread yet."""
        self._policy = policy
        self._named = named
        self._threads = DaemonThreads()
        self._all = asyncio.Semaphore(_AT_ONCE)
        self._domains: LRUCache[str, asyncio.Semaphore] = LRUCache(REMEMBERED)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of ``host`` that may be connected to.

        Raises:
            RejectedAddressError: it has only others.
            OSError: it has none.
            UnicodeError: no DNS server may hold such a name.
        """
        name = normalise_name(host)
        domain = ".".join(name.split(".")[-2:])
        async with self._domains.setdefault(domain, asyncio.Semaphore(_PER_DOMAIN)), self._all:
            wanted = name if self._named(name) else f"{name}."
            loop = asyncio.get_running_loop()
            rows: list[Any] = await loop.run_in_executor(
                self._threads, partial(socket.getaddrinfo, wanted, port, family, socket.SOCK_STREAM, flags=_LOOK_UP)
            )
        found: list[ResolveResult] = []
        rejected: Rejection | None = None
        for _, _, _, _, place in rows:
            address = ipaddress.ip_address(str(place[0]))
            fault = self._policy.address_rejection(name, address)
            if fault is not None:
                rejected = rejected or fault
                continue
            number = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004
            found.append(
                ResolveResult(hostname=host, host=str(address), port=port, family=number, proto=0, flags=_FLAGS)
            )
        if found:
            return found
        if rejected is not None:
            raise RejectedAddressError(rejected)
        raise OSError(f"{host} has no address")

    async def close(self) -> None:
        """Leave threads to end by themselves."""
