"""Fixtures of all tests of the registry client."""

from tests.registry.names import no_proxies

__all__ = ["no_proxies"]
