"""``multiarch image inspect``: the platforms of an image, and the verdict per architecture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from multiarch.cli.formats import Format, OutputOption, print_report
from multiarch.cli.formats.report import Block, Report, Table
from multiarch.cli.options import with_groups
from multiarch.cli.options.registry import ImageArgument, RegistryOptions
from multiarch.errors import MultiarchError
from multiarch.images.model import EntryKind, Inspected, Judgement, PlatformEntry, escape_printable
from multiarch.runs.images import inspect_image, read_raw_manifest
from multiarch.serialization import to_json

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
    if raw and output is not Format.TABLE:
        raise MultiarchError("--raw and --output are mutually exclusive.", hint="--raw prints what the registry sent.")
    if raw:
        typer.echo(read_raw_manifest(reference, registries.access).content, nl=False)
        return
    found = inspect_image(reference, registries.access)
    inspected, judgements = found.inspected, found.judgements
    data = {
        "image": str(inspected.reference),
        "imageKind": inspected.kind,
        "mediaType": inspected.media_type,
        "digest": inspected.digest,
        "size": inspected.size,
        "note": inspected.note,
        "annotations": _list_annotations(inspected.annotations),
        "entries": [_entry_data(entry) for entry in inspected.entries],
        "verdicts": judgements,
    }
    print_report(Report("image-inspection", data, blocks=lambda: _blocks(inspected, judgements)), output)


def _blocks(inspected: Inspected, judgements: Sequence[Judgement]) -> Iterator[Block]:
    yield str(inspected.reference)
    yield f"{inspected.kind} {inspected.digest}, {inspected.size} bytes, {inspected.media_type}"
    if inspected.note:
        yield inspected.note
    for name, value in inspected.annotations.items():
        yield f"{escape_printable(name)}={escape_printable(value, _SHOWN)}"
    rows = [_row(depth, entry) for depth, entry in _walked(inspected.entries)]
    if rows:
        columns = ("platform", "variant", "OS version", "digest", "manifest bytes", "note")
        kept = [at for at in range(len(columns)) if at in (0, 3, 4) or any(row[at] for row in rows)]
        yield Table([columns[at] for at in kept], [[row[at] for at in kept] for row in rows])
        for _, entry in _walked(inspected.entries):
            for name, value in entry.annotations.items():
                yield f"{entry.digest} {escape_printable(name)}={escape_printable(value, _SHOWN)}"
    verdicts = [(str(each.architecture), str(each.verdict), each.reason) for each in judgements]
    yield Table(("architecture", "verdict", "reason"), verdicts)


def _walked(entries: Sequence[PlatformEntry], depth: int = 0) -> Iterator[tuple[int, PlatformEntry]]:
    for entry in entries:
        yield depth, entry
        yield from _walked(entry.children, depth + 1)


def _row(depth: int, entry: PlatformEntry) -> tuple[str, ...]:
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


def _variant(entry: PlatformEntry) -> str:
    """Return the variant as the image spells it."""
    if entry.platform is None:
        return ""
    written = entry.platform.raw.split("/")
    return written[2] if len(written) >= _RAW_PARTS else entry.platform.variant


def _entry_data(entry: PlatformEntry) -> dict[str, object]:
    return {
        **to_json(replace(entry, annotations={}, children=())),
        "annotations": _list_annotations(entry.annotations),
        "children": [_entry_data(child) for child in entry.children],
    }


def _list_annotations(annotations: Mapping[str, str]) -> list[dict[str, str]]:
    """Return names as values: the keys of a JSON document are fixed."""
    return [{"name": name, "value": value} for name, value in annotations.items()]
