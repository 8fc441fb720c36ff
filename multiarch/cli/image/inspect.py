"""``multiarch image inspect``: the platforms of an image, and the verdict per architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, show
from multiarch.cli.formats.report import Block, Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.registry import ImageArgument, RegistryOptions, ask
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.images.model import Entry, Inspected, Judgement
    from multiarch.registry.model import Manifest, Registry

_SHOWN = 2000
"""Characters of an annotation that a table shows."""
_RAW_PARTS = 3
"""os/architecture/variant."""
HELP = """Show the platforms of an image, and the architectures it runs on.

An index has a row per platform. The platform of an image without an index is read from its config, which takes a
second request. Attestations are shown, not counted. Artifacts such as charts are not images: their verdict is unknown.
Only manifests and configs are pulled. Verdicts are those of EKS nodes, which run containerd.

\b
Examples:
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37 --output json
  multiarch image inspect public.ecr.aws/docker/library/busybox:1.37 --raw | sha256sum

Exit code: 0 for every verdict; 3 if the image can't be read."""


@with_groups
def inspect(
    reference: ImageArgument,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Print the manifest or index byte by byte.")] = False,
    output: OutputOption = Format.TABLE,
    registries: RegistryOptions,
) -> None:
    """Show the platforms of an image, as :data:`HELP` says."""
    from multiarch.facts.architectures import Architecture
    from multiarch.images.verdict import judge

    if raw and output is not Format.TABLE:
        raise MultiarchError("--raw and --output exclude each other.", hint="--raw prints what the registry sent.")
    reading = partial(_read, reference, raw=raw, seconds=registries.timeout)
    manifest, inspected = ask(registries, reading, fresh_tags=True)
    if inspected is None:
        typer.echo(manifest.content, nl=False)
        return
    judgements = [judge(inspected, architecture) for architecture in Architecture]
    report = Report(
        "image-inspection", data=partial(_data, inspected, judgements), blocks=partial(_blocks, inspected, judgements)
    )
    show(report, output)


async def _read(
    text: str, registry: Registry, *, raw: bool, seconds: float | None
) -> tuple[Manifest, Inspected | None]:
    from multiarch.images.inspect import SECONDS, inspect_manifest
    from multiarch.registry.operation import time_limit
    from multiarch.registry.reference import parse_reference

    reference = parse_reference(text)
    async with time_limit(reference, SECONDS if seconds is None else seconds):
        manifest = await registry.manifest(reference)
        return manifest, None if raw else await inspect_manifest(registry, reference, manifest)


def _blocks(inspected: Inspected, judgements: Sequence[Judgement]) -> Iterator[Block]:
    from multiarch.images.model import printable

    yield str(inspected.reference)
    yield f"{inspected.kind} {inspected.digest}, {inspected.size} bytes, {inspected.media_type}"
    if inspected.note:
        yield inspected.note
    for name, value in inspected.annotations.items():
        yield f"{printable(name)}={printable(value, _SHOWN)}"
    rows = [_row(depth, entry) for depth, entry in _walked(inspected.entries)]
    if rows:
        columns = ("platform", "variant", "OS version", "digest", "manifest bytes", "note")
        kept = [at for at in range(len(columns)) if at in (0, 3, 4) or any(row[at] for row in rows)]
        yield Table([columns[at] for at in kept], [[row[at] for at in kept] for row in rows])
        for _, entry in _walked(inspected.entries):
            for name, value in entry.annotations.items():
                yield f"{entry.digest} {printable(name)}={printable(value, _SHOWN)}"
    verdicts = [(str(each.architecture), str(each.verdict), each.reason) for each in judgements]
    yield Table(("architecture", "verdict", "reason"), verdicts)


def _walked(entries: Sequence[Entry], depth: int = 0) -> Iterator[tuple[int, Entry]]:
    for entry in entries:
        yield depth, entry
        yield from _walked(entry.children, depth + 1)


def _row(depth: int, entry: Entry) -> tuple[str, ...]:
    from multiarch.images.model import EntryKind

    platform = entry.platform
    name = "-" if platform is None or platform.is_unknown else platform.base
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
    """The variant as the image spells it."""
    if entry.platform is None:
        return ""
    written = entry.platform.raw.split("/")
    return written[2] if len(written) >= _RAW_PARTS else entry.platform.variant


def _data(inspected: Inspected, judgements: Sequence[Judgement]) -> dict[str, object]:
    return {
        "image": str(inspected.reference),
        "imageKind": str(inspected.kind),
        "mediaType": inspected.media_type,
        "digest": inspected.digest,
        "size": inspected.size,
        "note": inspected.note,
        "annotations": _annotations(inspected.annotations),
        "entries": [_entry_data(entry) for entry in inspected.entries],
        "verdicts": [
            {
                "architecture": str(each.architecture),
                "verdict": str(each.verdict),
                "reason": each.reason,
                "digest": each.digest,
            }
            for each in judgements
        ],
    }


def _entry_data(entry: Entry) -> dict[str, object]:
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
            "osFeatures": list(platform.os_features),
            "written": platform.raw,
        },
        "declared": entry.declared,
        "digest": entry.digest,
        "size": entry.size,
        "mediaType": entry.media_type,
        "annotations": _annotations(entry.annotations),
        "note": entry.note,
        "entries": [_entry_data(child) for child in entry.children],
    }


def _annotations(annotations: Mapping[str, str]) -> list[dict[str, str]]:
    """Names as values: the keys of a JSON document are fixed."""
    return [{"name": name, "value": value} for name, value in annotations.items()]
