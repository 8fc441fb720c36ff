"""``multiarch image verify``: hold an image to what it says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.output import Output, OutputOption, counted, print_json, print_table, say
from multiarch.cli.registries import (
    DEFAULT_TIMEOUT,
    CaFileOption,
    DockerConfigOption,
    HostsDirOption,
    InsecureOption,
    NoCacheOption,
    RegistryOptions,
    TimeoutOption,
    connected,
    options,
    waited,
)

if TYPE_CHECKING:
    from multiarch.images.model import Platform
    from multiarch.images.verify import Scan, Verification

HELP = """Prove that an image is what it says for a platform; exit with 1 when it is not, or can't be proven.

An index can lie: some declare arm64 and carry an amd64 binary. The entry is held against the config of its manifest,
and both against the ELF header of the program that the image starts: a script is followed to its interpreter. Layers
are read from the last one on, as few as it takes; none is kept.

--deep reads all layers and lists every ELF file of another architecture: libraries, plugins, helpers. Files that an
upper layer replaces or removes are listed as hidden and are no finding.

\b
Examples:
  multiarch image verify public.ecr.aws/docker/library/busybox:1.37 --platform linux/arm64
  multiarch image verify public.ecr.aws/docker/library/busybox:1.37 --platform linux/amd64 --deep"""


def verify(
    reference: Annotated[str, typer.Argument(metavar="IMAGE", help="An image, written as in a pod: nginx:1.27.")],
    *,
    platform: Annotated[str, typer.Option("--platform", metavar="PLATFORM", help="linux/arm64 or linux/amd64.")],
    deep: Annotated[bool, typer.Option("--deep", help="Look at every ELF file of every layer.")] = False,
    output: OutputOption = Output.TABLE,
    insecure_registry: InsecureOption = None,
    ca_file: CaFileOption = None,
    hosts_dir: HostsDirOption = None,
    docker_config: DockerConfigOption = None,
    no_cache: NoCacheOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
) -> None:
    """Prove that an image is what it says for a platform."""
    from multiarch.images.model import Verdict, parse_platform

    registries = options(insecure_registry, ca_file, hosts_dir, docker_config, no_cache=no_cache, timeout=timeout)
    done = waited(_verified(reference, parse_platform(platform), registries, deep=deep))
    if output is Output.JSON:
        print_json("image-verification", as_json(done))
    else:
        _show(done)
    if done.verdict is Verdict.SUPPORTED:
        return
    lie = done.verdict is Verdict.UNSUPPORTED
    say(f"{done.reference} {'is not' if lie else 'is not proven to be'} what {done.platform} nodes need.")
    raise typer.Exit(1)


async def _verified(text: str, platform: Platform, registries: RegistryOptions, *, deep: bool) -> Verification:
    from multiarch.images.verify import verify as run
    from multiarch.registry.reference import parse_reference

    reference = parse_reference(text)
    async with connected(registries, tags_anew=True) as registry:
        with _progress(f"reading {reference.familiar}") as progress:
            return await run(registry, reference, platform, deep=deep, progress=progress)


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, on a terminal alone, that is gone at the end."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(done: Verification) -> None:
    typer.echo(f"{done.reference} for {done.platform}: {done.verdict}")
    if done.digest is not None:
        typer.echo(f"manifest {done.digest}")
    typer.echo("")
    rows = [(check.subject, str(check.verdict), check.reason) for check in done.checks]
    print_table(("CHECK", "VERDICT", "WHY"), rows)
    if done.scan is not None:
        _show_scan(done.scan)


def _show_scan(scan: Scan) -> None:
    typer.echo("")
    typer.echo(f"{counted(scan.files, 'ELF file')} in sight, {scan.hidden} hidden by upper layers")
    if scan.foreign:
        rows = [(each.path, each.found, "hidden" if each.hidden else "", each.layer) for each in scan.foreign]
        print_table(("OF ANOTHER ARCHITECTURE", "IS", "", "LAYER"), rows)
    if scan.more:
        typer.echo(f"and {scan.more} more")


def as_json(done: Verification) -> dict[str, object]:
    """The document's content: see docs/reference/json-output.md."""
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
