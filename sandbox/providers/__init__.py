"""Stand-ins for the Pulumi resource providers aws, eks and kubernetes, for the sandbox alone."""

from __future__ import annotations

import hashlib
import ipaddress
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pulumi.provider.experimental.property_value import PropertyValue


class StandInError(Exception):
    """A stand-in rejects a resource, property or setting that it does not model, or an address that is not loopback."""


class InitializationError(StandInError):
    """A thing exists, and did not become ready: the engine keeps it with these reasons until the next refresh."""

    def __init__(self, identifier: str, properties: dict[str, PropertyValue], *reasons: str) -> None:
        """``properties`` are wrapped, as in the answer of a create or update that ends well."""
        super().__init__("; ".join(reasons))
        self.identifier, self.properties, self.reasons = identifier, properties, reasons


def auto_name(prefix: str, urn: str, generation: int, limit: int) -> str:
    """Return the physical name for a resource without one: ``PREFIX-1a2b3c4``, never longer than ``limit``.

    The real provider draws the end at random; here it is a hash of the URN and the number of replacements, so that
    every run gives the same names.
    """
    return f"{prefix[: limit - 7]}{hashlib.sha256(f'{urn}#{generation}'.encode()).hexdigest()[:7]}"


def loopback_url(url: str, what: str) -> str:
    """Return ``url``, when it points to this machine.

    Raises :class:`StandInError` otherwise: a stand-in must never reach a real AWS or a real cluster.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if parts.scheme not in ("http", "https") or not local:
        raise StandInError(
            f"{what} is {url!r}, which is not an address of this machine. The sandbox's stand-ins talk to nothing else."
        )
    return url


def type_of(urn: str) -> str:
    """Return the resource type in a URN, without its parents' types."""
    return urn.split("::")[2].rsplit("$", maxsplit=1)[-1]


def aws_endpoint() -> str:
    """Return the sandbox's AWS, from ``AWS_ENDPOINT_URL``. Raises :class:`StandInError` when unset or not loopback."""
    url = os.environ.get("AWS_ENDPOINT_URL", "")
    if not url:
        raise StandInError(
            "AWS_ENDPOINT_URL is not set. The sandbox's aws stand-in needs the address of the sandbox's AWS."
        )
    return loopback_url(url, "AWS_ENDPOINT_URL")
