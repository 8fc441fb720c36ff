"""What a new cluster's stack file says: the options of ``stack new``, and prompts for those that were not given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from multiarch.autoscaling.model import Autoscaler
from multiarch.errors import MultiarchError
from multiarch.facts.ami_families import NODE_FAMILIES, AmiFamily
from multiarch.stack.checks.production import PRODUCTION
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
        str | None, typer.Option(metavar="|".join(Autoscaler), help="Who adds nodes. Default: none.")
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

    def choose(self, env: str, *, prompts: bool) -> ClusterChoice:
        """Return what was given, prompted for (``prompts``), or is the default. Raises MultiarchError."""

        def ask(question: str, default: str = "", check: Callable[[str], str] = str.strip) -> str:
            return _ask(question, default, check) if prompts else default

        network = self.network or ask("CIDR block of a new VPC, or ID of an existing one", "10.0.0.0/16")
        vpc = network if network.startswith(_VPC) else ""
        if self.subnet and not vpc:
            raise MultiarchError("--subnet needs --network with the ID of a VPC.")
        if self.zones and vpc:
            raise MultiarchError("--zones is for a new VPC; --subnet names those of an existing one.")
        zones = "" if vpc else self.zones or ask("Zones: a number, or names", "3" if env in PRODUCTION else "2")
        subnets = self.subnet or _split(ask("Private subnets of the VPC") if vpc else "")
        if vpc and not subnets:
            raise MultiarchError(f"{vpc} needs private subnets.", hint="Give --subnet ID for each zone.")
        family = partial(_check, "--ami-family", _FAMILIES)
        autoscaler = partial(_check, "--autoscaler", [*Autoscaler])
        chosen = autoscaler(self.autoscaler or ask(f"Autoscaler ({', '.join(Autoscaler)})", "none", autoscaler))
        on_spot = self.spot
        if on_spot is None:
            on_spot = prompts and typer.confirm("Spot capacity?", default=False, err=True)
        chooses = chosen == Autoscaler.AUTO_MODE
        of_nodes = self.ami_family or ("" if chooses else ask(f"AMI family ({', '.join(_FAMILIES)})", "", family))
        if chooses and self.ami_family:
            raise MultiarchError("--ami-family is not for EKS Auto Mode, which chooses the operating system.")
        return ClusterChoice(
            zones=_split(zones),
            cidr=network,
            vpc=vpc,
            subnets=subnets,
            ami_family=family(of_nodes),
            spot=on_spot,
            autoscaler=chosen,
            webhook=self.webhook or ask("Image of the admission webhook (empty: none)"),
            tags=dict(map(_pair, self.tag or _split(ask("Tags, KEY=VALUE with commas (empty: none)")))),
        )


def _ask(question: str, default: str, check: Callable[[str], str]) -> str:
    def read(text: str) -> str:
        try:
            return check(text)
        except MultiarchError as error:
            raise typer.BadParameter(str(error)) from error

    answer: str = typer.prompt(question, default=default, show_default=bool(default), value_proc=read, err=True)
    return answer


def _check(option: str, allowed: Sequence[str], value: str) -> str:
    if value and value not in allowed:
        raise MultiarchError(f"{option} {value}: Use {', '.join(allowed)}.")
    return value


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key.strip() or not value.isprintable():
        raise MultiarchError(f"--tag {text!r}: Write KEY=VALUE.")
    return key.strip(), value.strip()
