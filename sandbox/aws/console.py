"""EC2's GetConsoleOutput, with the text that an instance was given; moto has the same sample for all.

Upstream: Amazon EC2 API reference, GetConsoleOutput. An instance that was given none has no output, as one that has
just started.
"""

from __future__ import annotations

from typing import Final

from moto.core.responses import ActionResult
from moto.core.types import Base64EncodedString
from moto.core.utils import utcnow
from moto.ec2.responses.general import General

__all__ = ["OUTPUTS", "install"]

OUTPUTS: Final[dict[str, str]] = {}
_LIMIT: Final = 64 * 1024
"""EC2 keeps the last 64 KB."""


def get_console_output(response: General) -> ActionResult:
    """GetConsoleOutput."""
    instance = response.ec2_backend.get_instance(response._get_param("InstanceId"))  # noqa: SLF001 (an operation of that class)
    answer = {"InstanceId": instance.id, "Timestamp": utcnow()}
    text = OUTPUTS.get(instance.id, "")[-_LIMIT:]
    return ActionResult(answer | ({"Output": Base64EncodedString.from_raw_string(text)} if text else {}))


def install() -> None:
    """Replace moto's operation by this."""
    General.get_console_output = get_console_output  # type: ignore[method-assign, assignment]
