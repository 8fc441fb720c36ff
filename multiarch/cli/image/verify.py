"""``multiarch image verify``: check that an image is what it declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Block, Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.registry import ImageArgument, RegistryOptions
from multiarch.cli.terminal import print_message, show_progress
from multiarch.images.model import Verdict, parse_platform
from multiarch.images.verify import ImageVerification, Scan
from multiarch.plurals import format_count
from multiarch.runs.images import verify_image

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
    wanted = parse_platform(platform)
    with show_progress(f"reading {reference}", in_bytes=True) as step:
        done = verify_image(reference, wanted, registries.access, deep=deep, progress=step)
    data = {
        "image": str(done.reference),
        "platform": str(done.platform),
        "digest": done.digest,
        "verdict": done.verdict,
        "checks": done.checks,
        "elfFiles": done.scan,
    }
    print_report(Report("image-verification", data, blocks=lambda: _blocks(done)), output)
    if done.verdict is Verdict.SUPPORTED:
        return
    outcome = "does not match" if done.verdict is Verdict.UNSUPPORTED else "can't be verified for"
    print_message(f"{done.reference} {outcome} {done.platform}.")
    raise typer.Exit(1)


def _blocks(done: ImageVerification) -> Iterator[Block]:
    yield f"{done.reference} for {done.platform}: {done.verdict}"
    if done.digest is not None:
        yield f"manifest {done.digest}"
    rows = [(check.subject, str(check.verdict), check.reason) for check in done.checks]
    yield Table(("check", "verdict", "reason"), rows)
    if done.scan is not None:
        yield from _scan_blocks(done.scan)


def _scan_blocks(scan: Scan) -> Iterator[Block]:
    yield f"{format_count(scan.files, 'visible ELF file')}, {scan.hidden} hidden by upper layers"
    if scan.foreign:
        rows = [(each.path, each.found, "hidden" if each.hidden else "", each.layer) for each in scan.foreign]
        yield Table(("file of another architecture", "found", "", "layer"), rows)
    if scan.more:
        yield f"and {scan.more} more"
