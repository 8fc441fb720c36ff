"""``multiarch image verify``: check that an image is what it declares."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Block, Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.registry import ImageArgument, RegistryOptions, ask
from multiarch.cli.terminal import progress, say
from multiarch.plurals import counted

if TYPE_CHECKING:
    from multiarch.images.model import Platform
    from multiarch.images.verify import Scan, Verification
    from multiarch.registry.model import Registry

HELP = """Check that an image has the binaries of the platform it declares.

Some indexes declare arm64 and hold an amd64 binary. This command compares the index entry with the image's config, and
both with the ELF header of the program that the image starts; scripts are followed to their interpreter. It reads
layers from the last one on, as few as needed, and keeps none.

With --deep it reads all layers and lists every ELF file of another architecture: libraries, plugins, helpers. Files
that an upper layer replaces or removes are listed as hidden, and don't count.

\b
Examples:
  multiarch image verify public.ecr.aws/docker/library/busybox:1.37 --platform linux/arm64
  multiarch image verify public.ecr.aws/docker/library/busybox:1.37 --platform linux/amd64 --deep

Exit code: 0 if the image is verified; 1 if it does not match, or can't be verified; 3 if it can't be read."""


@with_groups
def verify(
    reference: ImageArgument,
    *,
    platform: Annotated[str, typer.Option(metavar="PLATFORM", help="linux/arm64 or linux/amd64.")],
    deep: Annotated[bool, typer.Option("--deep", help="Check every ELF file of every layer.")] = False,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Verify an image, as :data:`HELP` says."""
    from multiarch.images.model import Verdict, parse_platform

    wanted = parse_platform(platform)
    reading = partial(_verified, reference, wanted, deep=deep, seconds=registries.timeout)
    done = ask(registries, reading, fresh_tags=True)
    show(Report("image-verification", data=partial(_data, done), blocks=partial(_blocks, done)), output)
    if done.verdict is Verdict.SUPPORTED:
        return
    outcome = "does not match" if done.verdict is Verdict.UNSUPPORTED else "can't be verified for"
    say(f"{done.reference} {outcome} {done.platform}.")
    raise typer.Exit(1)


async def _verified(
    text: str, platform: Platform, registry: Registry, *, deep: bool, seconds: float | None
) -> Verification:
    from multiarch.images.verify import SECONDS
    from multiarch.images.verify import verify as run
    from multiarch.registry.reference import parse_reference

    reference = parse_reference(text)
    with progress(f"reading {reference.familiar}", in_bytes=True) as step:
        limit = SECONDS if seconds is None else seconds
        return await run(registry, reference, platform, deep=deep, seconds=limit, progress=step)


def _blocks(done: Verification) -> Iterator[Block]:
    yield f"{done.reference} for {done.platform}: {done.verdict}"
    if done.digest is not None:
        yield f"manifest {done.digest}"
    rows = [(check.subject, str(check.verdict), check.reason) for check in done.checks]
    yield Table(("check", "verdict", "reason"), rows)
    if done.scan is not None:
        yield from _scan_blocks(done.scan)


def _scan_blocks(scan: Scan) -> Iterator[Block]:
    yield f"{counted(scan.files, 'visible ELF file')}, {scan.hidden} hidden by upper layers"
    if scan.foreign:
        rows = [(each.path, each.found, "hidden" if each.hidden else "", each.layer) for each in scan.foreign]
        yield Table(("file of another architecture", "found", "", "layer"), rows)
    if scan.more:
        yield f"and {scan.more} more"


def _data(done: Verification) -> dict[str, object]:
    scan = done.scan
    return {
        "image": str(done.reference),
        "platform": str(done.platform),
        "digest": done.digest,
        "verdict": str(done.verdict),
        "checks": [
            {"check": check.subject, "verdict": str(check.verdict), "reason": check.reason} for check in done.checks
        ],
        "elfFiles": None
        if scan is None
        else {
            "files": scan.files,
            "hiddenFiles": scan.hidden,
            "foreign": [
                {"path": each.path, "found": each.found, "layer": each.layer, "hidden": each.hidden}
                for each in scan.foreign
            ],
            "notListed": scan.more,
        },
    }
