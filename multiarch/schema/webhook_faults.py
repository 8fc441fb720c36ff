"""What is wrong with a webhook's configuration beyond its schema, files apart: for its file, and for a stack's."""

import ipaddress
import re
from collections.abc import Iterator

from multiarch.errors import KeyPath, Problem
from multiarch.facts.taints import TaintSyntaxError, parse_taint
from multiarch.schema.webhook import (
    HOST_PATTERN,
    NAMESPACED_PATTERN,
    NETWORK_PATTERN,
    REGISTRY_PATTERN,
    WebhookConfiguration,
)

_ENTRIES = {
    "allowed": ("HOST or HOST:PORT", "Write it with * for any characters, as in *.dkr.ecr.*.amazonaws.com."),
    "allowedNetworks": ("a CIDR block", "Write a CIDR block such as 10.1.2.0/24."),
    "plainHttp": ("HOST or HOST:PORT", "Write it without http:// or a path, as in registry.example.com:5000."),
    "pullSecrets": ("NAMESPACE/NAME", "Write it as in team-a/registry."),
}
"""What the entries of a list are, and how to write them."""


WebhookFault = tuple[KeyPath, Problem]
"""A value that the schema allows, and that is wrong."""


def find_faults(configuration: WebhookConfiguration) -> Iterator[WebhookFault]:
    """Yield what is wrong beyond the schema, files apart."""
    for index, text in enumerate(configuration.taints):
        try:
            parse_taint(text)
        except TaintSyntaxError as error:
            yield ("taints", index), Problem("taint", error.message, error.hint)
    for index, text in enumerate(configuration.architectures):
        if text in configuration.architectures[:index]:
            yield ("architectures", index), Problem("not-valid", f"{text} is named twice.", "Remove one.")
    if configuration.mode == "pin" and len(set(configuration.architectures)) == 1:
        hint = "Omit architectures, or use another mode."
        message = "mode pin needs both architectures: of the other one, nothing would be known."
        yield ("architectures",), Problem("not-valid", message, hint)
    registries = configuration.registries
    yield from _check_entries("allowed", registries.allowed, REGISTRY_PATTERN)
    yield from _check_entries("plainHttp", registries.plain_http, HOST_PATTERN)
    yield from _check_entries("pullSecrets", registries.pull_secrets, NAMESPACED_PATTERN)
    yield from _check_entries("allowedNetworks", registries.allowed_networks, NETWORK_PATTERN)
    for index, text in enumerate(registries.allowed_networks):
        if not re.fullmatch(NETWORK_PATTERN, text):
            continue
        interface = ipaddress.ip_interface(text)
        if interface.ip != interface.network.network_address:
            path = ("registries", "allowedNetworks", index)
            yield path, Problem("not-valid", f"{text} has host bits set.", _ENTRIES["allowedNetworks"][1])


def _check_entries(key: str, entries: list[str], syntax: str) -> Iterator[WebhookFault]:
    what, hint = _ENTRIES[key]
    for index, text in enumerate(entries):
        if not re.fullmatch(syntax, text):
            yield ("registries", key, index), Problem("not-valid", f"{text!r} is not {what}.", hint)
