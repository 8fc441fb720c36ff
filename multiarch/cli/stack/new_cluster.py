"""What a new cluster's stack file says: the options of ``stack new``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from multiarch.autoscaling.model import Autoscaler
from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.stack.checks.cluster import PRODUCTION
from multiarch.stack.new_file import ClusterChoice

_VPC = "vpc-"
_FAMILIES = [each for each in NODE_FAMILIES if each is not AmiFamily.AL2]
"""Amazon Linux 2 has no image for the version of new stacks."""


@dataclass(frozen=True, slots=True)
class NewClusterOptions:
    """The options as they were given; None for one that was not."""

    zones: Annotated[str | None, typer.Option(metavar="NUMBER|NAME,…", help="Zones. Default: 2, in production 3.")] = (
        None
    )
    network: Annotated[
        str | None,
        typer.Option(metavar="CIDR|VPC", help="The new VPC's CIDR block (10.0.0.0/16), or an existing VPC's ID."),
    ] = None
    subnet: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="A private subnet of the existing VPC; repeat it for other zones."),
    ] = None
    ami_family: Annotated[
        str | None, typer.Option(metavar="|".join(_FAMILIES), help="The nodes' operating system.")
    ] = None
    autoscaler: Annotated[
        Autoscaler | None, typer.Option(metavar="|".join(Autoscaler), help="Who adds nodes. Default: none.")
    ] = None
    spot: Annotated[
        bool | None, typer.Option("--spot/--no-spot", help="Spot capacity for arm64 nodes, or for the autoscaler's.")
    ] = None
    webhook: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Install the admission webhook of this image, in mode observe.")
    ] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A tag for every resource; may be repeated.")
    ] = None

    @property
    def given(self) -> str:
        """The first option that was given, empty if none was."""
        return next((f"--{name.replace('_', '-')}" for name in self.__slots__ if getattr(self, name) is not None), "")

    def choose(self, env: str) -> ClusterChoice:
        """Return what was given, or is the default. Raises MultiarchError for options that do not go together."""
        network = self.network or "10.0.0.0/16"
        vpc = network if network.startswith(_VPC) else ""
        if self.subnet and not vpc:
            raise MultiarchError("--subnet needs --network with the ID of a VPC.")
        if self.zones and vpc:
            raise MultiarchError("--zones is for a new VPC; --subnet names those of an existing one.")
        if vpc and not self.subnet:
            raise MultiarchError(f"{vpc} needs private subnets.", hint="Give --subnet ID for each zone.")
        zones = "" if vpc else self.zones or ("3" if env in PRODUCTION else "2")
        if self.ami_family and self.ami_family not in _FAMILIES:
            raise MultiarchError(f"--ami-family {self.ami_family}: Use {', '.join(_FAMILIES)}.")
        if self.ami_family and self.autoscaler is Autoscaler.AUTO_MODE:
            raise MultiarchError("--ami-family is not for EKS Auto Mode, which chooses the operating system.")
        return ClusterChoice(
            zones=[each.strip() for each in zones.split(",") if each.strip()],
            cidr=network,
            vpc=vpc,
            subnets=self.subnet or (),
            ami_family=self.ami_family or "",
            spot=bool(self.spot),
            autoscaler=str(self.autoscaler or Autoscaler.NONE),
            webhook=self.webhook or "",
            tags=dict(map(_pair, self.tag or ())),
        )


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.isprintable():
        raise MultiarchError(f"--tag {text!r}: Write KEY=VALUE.")
    return key.strip(), value.strip()
