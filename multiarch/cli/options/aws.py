"""Options that say which AWS account and region a command queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from multiarch.aws_errors import open_client


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

    def client(self, service: str, *, region: str | None = None, region_key: str = "AWS_REGION") -> Any:  # noqa: ANN401  (untyped)
        """Return a boto3 client; ``region`` counts where --region is not given.

        Raises as :func:`multiarch.aws_errors.open_client` does.
        """
        return open_client(service, self.region or region, region_key=region_key, profile=self.profile)
