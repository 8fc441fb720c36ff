"""Options that say which AWS account and region a command queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from multiarch.aws_errors import REGION_HINT, open_clients


@dataclass(frozen=True, slots=True)
class AwsOptions:
    """The options as they were given."""

    region: Annotated[
        str | None,
        typer.Option(
            metavar="REGION", help="The AWS region. Default: that of the stack or the nodes, or else the environment's."
        ),
    ] = None
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A profile of the AWS CLI's configuration. Default: the environment's."),
    ] = None

    def open(self, region: str | None, region_key: str = "AWS_REGION") -> Callable[[str], Any]:
        """Return what opens boto3's clients; ``region``, which ``region_key`` sets, counts where --region is not given.

        As :func:`multiarch.aws_errors.open_clients` does.
        """
        return open_clients(self.region or region, region_hint=REGION_HINT.format(region_key), profile=self.profile)
