"""``multiarch image inspect``: the platforms of an image, and the verdict per architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.output import Output, OutputOption, print_json, print_table
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
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.images.model import Entry, Inspected, Judgement
    from multiarch.registry.model import Manifest

_SHOWN = 2000
"""Characters of an annotation that a table shows."""
HELP = """Show an image's platforms, and on which architectures it runs.

An index has a row per platform; an image without one is what its config says, which costs a second request.
Attestations are shown and not counted; artifacts such as charts are no images, and their verdict is unknown. Nothing is
pulled but manifests and configs. The verdict says what EKS nodes, which run containerd, do with it.

\b
Examples:
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37 --output json
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37 --raw | sha256sum"""


def inspect(
    reference: Annotated[str, typer.Argument(metavar="IMAGE", help="An image, written as in a pod: nginx:1.27.")],
    *,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the manifest or index byte by byte, and nothing else.")
    ] = False,
    output: OutputOption = Output.TABLE,
    insecure_registry: InsecureOption = None,
    ca_file: CaFileOption = None,
    hosts_dir: HostsDirOption = None,
    docker_config: DockerConfigOption = None,
    no_cache: NoCacheOption = False,
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
) -> None:
    """Show an image's platforms, and on which architectures it runs."""
    from multiarch.facts.architectures import Architecture
    from multiarch.images.verdict import judge

    if raw and output is not Output.TABLE:
        raise MultiarchError("--raw and --output exclude each other.", hint="--raw prints what the registry sent.")
    registries = options(insecure_registry, ca_file, hosts_dir, docker_config, no_cache=no_cache, timeout=timeout)
    manifest, inspected = waited(_asked(reference, registries, raw=raw))
    if inspected is None:
        typer.echo(manifest.content, nl=False)
        return
    judgements = [judge(inspected, architecture) for architecture in Architecture]
    if output is Output.JSON:
        print_json("image-inspection", as_json(inspected, judgements))
    else:
        _show(inspected, judgements)


async def _asked(text: str, registries: RegistryOptions, *, raw: bool) -> tuple[Manifest, Inspected | None]:
    from multiarch.images.inspect import inspect_manifest
    from multiarch.registry.reference import parse_reference

    reference = parse_reference(text)
    async with connected(registries, tags_anew=True) as registry:
        manifest = await registry.manifest(reference)
        return manifest, None if raw else await inspect_manifest(registry, reference, manifest)


def _show(inspected: Inspected, judgements: Sequence[Judgement]) -> None:
    from multiarch.images.model import printable

    typer.echo(str(inspected.reference))
    typer.echo(f"{inspected.kind} {inspected.digest}, {inspected.size} bytes, {inspected.media_type}")
    if inspected.note:
        typer.echo(inspected.note)
    for name, value in inspected.annotations.items():
        typer.echo(f"{printable(name)}={printable(value, _SHOWN)}")
    rows = [_row(depth, entry) for depth, entry in _walked(inspected.entries)]
    if rows:
        typer.echo("")
        columns = ("PLATFORM", "VARIANT", "OS VERSION", "DIGEST", "SIZE", "NOTE")
        kept = [at for at in range(len(columns)) if at in (0, 3, 4) or any(row[at] for row in rows)]
        print_table([columns[at] for at in kept], [[row[at] for at in kept] for row in rows])
        for _, entry in _walked(inspected.entries):
            for name, value in entry.annotations.items():
                typer.echo(f"{entry.digest} {printable(name)}={printable(value, _SHOWN)}")
    typer.echo("")
    rows = [(str(each.architecture), str(each.verdict), each.reason) for each in judgements]
    print_table(("ARCHITECTURE", "VERDICT", "WHY"), rows)


def _walked(entries: Sequence[Entry], depth: int = 0) -> Iterator[tuple[int, Entry]]:
    for entry in entries:
        yield depth, entry
        yield from _walked(entry.children, depth + 1)


def _row(depth: int, entry: Entry) -> tuple[str, ...]:
    from multiarch.images.model import EntryKind

    platform = entry.platform
    name = "-" if platform is None or platform.is_unknown else f"{platform.os or '?'}/{platform.architecture or '?'}"
    notes = [] if entry.kind is EntryKind.IMAGE else [str(entry.kind)]
    if entry.kind is EntryKind.IMAGE and not entry.declared:
        notes.append("platform from the config")
    if entry.note:
        notes.append(entry.note)
    return (
        "  " * depth + name,
        _variant(entry),
        "" if platform is None else platform.os_version,
        entry.digest,
        str(entry.size),
        ": ".join(notes),
    )


def _variant(entry: Entry) -> str:
    """The variant as it is written, also where it means nothing more."""
    written = "" if entry.platform is None else entry.platform.raw.split("/")
    return written[2] if len(written) > 2 else "" if entry.platform is None else entry.platform.variant  # noqa: PLR2004


def as_json(inspected: Inspected, judgements: Sequence[Judgement]) -> dict[str, object]:
    """The document's content: see docs/reference/json-output.md."""
    return {
        "image": str(inspected.reference),
        "imageKind": str(inspected.kind),
        "mediaType": inspected.media_type,
        "digest": inspected.digest,
        "size": inspected.size,
        "note": inspected.note,
        "annotations": _pairs(inspected.annotations),
        "entries": [_entry_as_json(entry) for entry in inspected.entries],
        "verdicts": [judgement_as_json(each) for each in judgements],
    }


def judgement_as_json(judgement: Judgement) -> dict[str, object]:
    """One verdict, as every command prints it."""
    return {
        "architecture": str(judgement.architecture),
        "verdict": str(judgement.verdict),
        "reason": judgement.reason,
        "digest": judgement.digest,
    }


def _entry_as_json(entry: Entry) -> dict[str, object]:
    platform = entry.platform
    return {
        "entryKind": str(entry.kind),
        "platform": None
        if platform is None
        else {
            "os": platform.os,
            "architecture": platform.architecture,
            "variant": platform.variant,
            "osVersion": platform.os_version,
            "written": platform.raw,
        },
        "declared": entry.declared,
        "digest": entry.digest,
        "size": entry.size,
        "mediaType": entry.media_type,
        "annotations": _pairs(entry.annotations),
        "note": entry.note,
        "entries": [_entry_as_json(child) for child in entry.children],
    }


def _pairs(annotations: Mapping[str, str]) -> list[dict[str, str]]:
    """Names as values: the keys of a document are the document's own."""
    return [{"name": name, "value": value} for name, value in annotations.items()]
