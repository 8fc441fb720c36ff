"""``multiarch prices``: AWS's prices, kept in a file that reviews read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from multiarch.aws_errors import open_clients, translate_failures
from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Block, Items, Report, Table
from multiarch.cli.options.prices import PricesFile
from multiarch.cli.terminal import print_message
from multiarch.errors import MultiarchError, UnknownFactError
from multiarch.facts.instance_types import get_instance_type
from multiarch.facts.partitions import find_partition
from multiarch.prices import fetch as fetching
from multiarch.prices import file as files
from multiarch.prices.model import Amount, NetworkItem, PriceList, RegionPrices, UnknownPrice

FETCH = """Fetch AWS's prices of regions into a file.

On-demand prices of Linux instances, EKS clusters and NAT gateways come from AWS's Pricing API, spot prices per zone
from EC2. Prices of other regions in the file stay. The file is written when all prices are there; until then
it stays as it was. A CI job can keep it: with --max-age nothing is fetched while its prices are recent enough.

\b
IAM actions: pricing:GetProducts, and ec2:DescribeSpotPriceHistory unless --no-spot is given.

\b
Examples:
  multiarch prices fetch --region eu-west-1
  multiarch prices fetch --region eu-west-1 --region us-east-1 --max-age 24 --file cache/prices.json

Exit code: 0; 2 if the file can't be written, or the partition has no Pricing API; 3 if AWS can't be reached or denies
access."""

SHOW = """Show the prices in a file.

Without TYPE every instance type that has a price is shown. A type without a price is "unknown", with the reason.

\b
Examples:
  multiarch prices show m7g.large m7i.large
  multiarch prices show --region eu-west-1 --output json

Exit code: 0; 2 if there is no such file, or it can't be read."""

_UNKNOWN = "unknown"


def fetch(
    *,
    region: Annotated[
        list[str] | None,
        typer.Option(metavar="REGION", help="The region to fetch; may be repeated. Default: the environment's."),
    ] = None,
    file: PricesFile = Path("prices.json"),
    spot: Annotated[bool, typer.Option("--spot/--no-spot", help="Fetch spot prices too.")] = True,
    max_age: Annotated[
        float | None,
        typer.Option(metavar="HOURS", min=0, help="Keep the prices of a region that are not older than this."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A profile of the AWS CLI's configuration. Default: the environment's."),
    ] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Fetch prices, as :data:`FETCH` says."""
    now = datetime.now(UTC)
    prices = files.read_prices(file) if file.exists() else PriceList(str(file), {})
    regions = list(dict.fromkeys(region or [str(open_clients(None, profile=profile)("pricing").meta.region_name)]))
    fetched, kept = [], []
    for name in regions:
        old = prices.regions.get(name)
        recent = old is not None and max_age is not None and old.age(now).total_seconds() <= max_age * 3600
        if recent and old is not None and (old.with_spot or not spot):
            kept.append(name)
            continue
        prices = files.merge_prices(prices, _fetched(name, profile, now, spot=spot), str(file))
        fetched.append(name)
    if fetched:
        files.write_prices(file, prices)
    print_report(
        Report(
            "prices-fetch",
            data=lambda: {"file": str(file), "fetched": fetched, "kept": kept},
            blocks=lambda: [Table(("region", "currency", "fetched", "types", "with spot prices"), _summary(prices))],
        ),
        output,
    )
    for name in kept:
        print_message(f"{file}: the prices of {name} are recent enough; nothing was fetched.")


def show_prices(
    types: Annotated[
        list[str] | None, typer.Argument(metavar="TYPE", help="Instance types. Default: all that have a price.")
    ] = None,
    *,
    file: PricesFile = Path("prices.json"),
    region: Annotated[
        list[str] | None, typer.Option(metavar="REGION", help="Only this region; may be repeated.")
    ] = None,
    output: OutputOption = Format.TABLE,
) -> None:
    """Show prices, as :data:`SHOW` says."""
    prices = files.read_prices(file)
    wanted = region or sorted(prices.regions)
    chosen = []
    for name in wanted:
        found = prices.of(name)
        if isinstance(found, UnknownPrice):
            raise MultiarchError(f"{found.reason}.")
        chosen.append(found)
    print_report(
        Report(
            "prices-list",
            data=lambda: {"file": str(file), "regions": [_data(each, types) for each in chosen]},
            blocks=lambda: _blocks(chosen, types),
        ),
        output,
    )


def _fetched(region: str, profile: str | None, now: datetime, *, spot: bool) -> RegionPrices:
    import boto3  # noqa: PLC0415

    partition = find_partition(region)
    available = boto3.session.Session(region_name=region).get_available_regions(
        "pricing", partition_name=partition.name if partition else "aws"
    )
    clients = open_clients(fetching.get_pricing_region(region, available), profile=profile)
    ec2 = open_clients(region, profile=profile)("ec2") if spot else None
    with translate_failures():
        return fetching.fetch_prices(clients("pricing"), ec2, region, now)


def _summary(prices: PriceList) -> Iterator[Sequence[str]]:
    for name, each in sorted(prices.regions.items()):
        with_spot = str(len(each.spot)) if each.with_spot else "not fetched"
        yield name, each.currency, _date(each), str(len(each.on_demand)), with_spot


def _blocks(chosen: Sequence[RegionPrices], types: Sequence[str] | None) -> Iterator[Block]:
    for each in chosen:
        columns = (
            "instance type",
            "architecture",
            "vCPU",
            "GiB",
            f"on-demand {each.currency}/h",
            "spot /h (mean)",
            "Auto Mode fee /h",
        )
        rows = [
            (
                name,
                *_shape(name),
                *map(_cell, (each.on_demand_hour(name), each.spot_hour(name), each.auto_mode_hour(name))),
            )
            for name in _names(each, types)
        ]
        yield Table(columns, rows, title=f"{each.region}, fetched {_date(each)}")
        if reasons := dict.fromkeys(f"{why}." for name in types or () for why in _unknown(each, name)):
            yield Items("Unknown", list(reasons))
        yield Table(
            ("other prices", each.currency),
            [(what, _cell(amount)) for what, amount in _others(each).items()],
        )


def _names(prices: RegionPrices, types: Sequence[str] | None) -> Sequence[str]:
    return types or sorted({*prices.on_demand, *prices.spot})


def _unknown(prices: RegionPrices, name: str) -> Iterator[str]:
    """Yield why a type has no price."""
    amounts = prices.on_demand_hour(name), prices.spot_hour(name)
    yield from (each.reason for each in amounts if isinstance(each, UnknownPrice))


def _others(prices: RegionPrices) -> dict[str, Amount]:
    return {
        "EKS cluster, standard support, per hour": prices.cluster_hour(extended=False),
        "EKS cluster, extended support, per hour": prices.cluster_hour(extended=True),
        **{f"{item}, per hour": prices.network_hour(item) for item in NetworkItem},
    }


def _shape(name: str) -> tuple[str, str, str]:
    try:
        row = get_instance_type(name)
    except UnknownFactError:
        return _UNKNOWN, _UNKNOWN, _UNKNOWN
    return str(row.architecture), str(row.vcpus), f"{row.memory_mib / 1024:g}"


def _cell(amount: Amount) -> str:
    return _UNKNOWN if isinstance(amount, UnknownPrice) else f"{round(amount, 6).normalize():f}"


def _date(prices: RegionPrices) -> str:
    return f"{prices.fetched:%Y-%m-%d %H:%M} UTC"


def _data(prices: RegionPrices, types: Sequence[str] | None) -> dict[str, Any]:
    whole = files.build_region(prices)
    found = [
        {
            "name": name,
            "onDemandPerHour": prices.on_demand_hour(name),
            "spotPerHour": prices.spot.get(name, {}),
            "autoModePerHour": prices.auto_mode.get(name),
            "unknown": list(_unknown(prices, name)),
        }
        for name in _names(prices, types)
    ]
    shown = {key: whole[key] for key in ("currency", "fetchedAt", "perHour")}
    return {"region": prices.region, **shown, "types": found}
