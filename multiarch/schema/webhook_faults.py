"""What is wrong with a webhook's configuration beyond its schema, files apart: for its file, and for a stack's."""

import ipaddress
from collections.abc import Iterator

from multiarch.errors import KeyPath, Problem
from multiarch.facts.taints import TaintSyntaxError, parse_taint
from multiarch.schema.webhook import WebhookConfiguration

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
    for index, text in enumerate(configuration.registries.allowed_networks):
        interface = ipaddress.ip_interface(text)
        if interface.ip != interface.network.network_address:
            path = ("registries", "allowedNetworks", index)
            yield path, Problem("not-valid", f"{text} has host bits set.", "Write a CIDR block such as 10.1.2.0/24.")
