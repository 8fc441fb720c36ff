"""The verdict per architecture, by the rules that containerd selects an image with.

EKS nodes run containerd. At each level of an index it keeps the entries whose platform it can run, orders 32-bit ones
later and those without a platform last, and uses only the first. A single manifest is pulled on any node, and fails to
start on the wrong one. An entry with ``os.features`` is for nodes that have them, from containerd 2.3 on; before, they
do not count. Source: ``Manifest`` in https://github.com/containerd/containerd/blob/main/core/images/image.go and
``platformVector`` in https://github.com/containerd/platforms/blob/main/compare.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import inspect_image
from multiarch.images.model import LINUX, EntryKind, ImageKind, Inspected, Judgement, Platform, PlatformEntry, Verdict
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import Registry
from multiarch.registry.operation import share_deadline
from multiarch.registry.reference import Reference

__all__ = ["judge_image"]

_FALLBACKS: Mapping[Architecture, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        Architecture.AMD64: (("386", ""),),
        Architecture.ARM64: (("arm", "v8"), ("arm", "v7"), ("arm", "v6"), ("arm", "v5")),
    }
)
"""32-bit platforms that containerd falls back to; not every processor and kernel runs them."""
_LAST = 9
_SHOWN = 8


def judge_image(inspected: Inspected, architecture: Architecture) -> Judgement:
    """Judge whether Linux nodes of ``architecture`` run the image; pure.

    ``unknown`` is what can't be determined, and everything that is not an image.
    """
    if inspected.note or inspected.kind not in (ImageKind.IMAGE, ImageKind.INDEX):
        return Judgement(architecture, Verdict.UNKNOWN, inspected.note, None)
    if inspected.kind is ImageKind.IMAGE:
        return _of_single(inspected.entries[0], architecture)
    return _of_index(inspected, architecture)


def judge_volume(inspected: Inspected, architecture: Architecture) -> Judgement:
    """Judge whether Linux nodes of ``architecture`` can mount the image as a volume; pure.

    The kubelet has it pulled like any image, so an index needs an entry that containerd selects; but nothing in it is
    run, so a single manifest, and a 32-bit entry of an index, will do.
    Source: https://kubernetes.io/docs/concepts/storage/volumes/#image
    """
    found = judge_image(inspected, architecture)
    if found.verdict is Verdict.SUPPORTED or inspected.note:
        return found
    if inspected.kind is ImageKind.IMAGE:
        entry = inspected.entries[0]
        mounted = entry if entry.platform is not None and entry.platform.os in (LINUX, "") else None
    else:
        chosen = _chosen(inspected.entries, architecture) if inspected.kind is ImageKind.INDEX else None
        mounted = chosen if chosen is not None and chosen.kind is EntryKind.IMAGE and chosen.declared else None
    if mounted is None:
        return found
    which = "single manifest" if inspected.kind is ImageKind.IMAGE else f"index has {mounted.platform}"
    reason = f"{which}; {architecture} nodes pull it, and the files of a volume are not run"
    return Judgement(architecture, Verdict.SUPPORTED, reason, mounted.digest)


async def judge_architectures(
    registry: Registry,
    reference: Reference,
    architectures: Sequence[Architecture],
    rule: Callable[[Inspected, Architecture], Judgement] = judge_image,
) -> tuple[Judgement, ...]:
    """Judge an image for each architecture, in the order given, by :func:`judge_image` or :func:`judge_volume`.

    A registry's error makes it ``unknown``. The requests for it have one deadline.
    """
    try:
        with share_deadline():
            inspected = await inspect_image(registry, reference)
    except RegistryError as error:
        # Without the image's name, which stands beside the reason.
        text = f"{error.reason}: {error.detail}" if error.detail else str(error.reason)
        reason = f"{text}. {error.hint}".rstrip()
        return tuple(Judgement(architecture, Verdict.UNKNOWN, reason, None) for architecture in architectures)
    return tuple(rule(inspected, architecture) for architecture in architectures)


def _of_single(entry: PlatformEntry, architecture: Architecture) -> Judgement:
    # No features are required of a node if there is nothing to choose from.
    platform = None if entry.platform is None else replace(entry.platform, os_features=())
    if platform is None or not platform.architecture:
        reason = f"single manifest, and {entry.note or 'its config has no architecture'}"
        return Judgement(architecture, Verdict.UNKNOWN, reason, None)
    if platform.runs_on(architecture):
        return Judgement(architecture, Verdict.SUPPORTED, f"single manifest for {platform}", entry.digest)
    if platform.needs_more_than(architecture):
        reason = f"single manifest for {platform}, which does not run on every {architecture} instance"
        return Judgement(architecture, Verdict.UNKNOWN, reason, entry.digest)
    reason = f"single manifest for {platform}"
    if platform.os == LINUX:
        reason += f"; {architecture} nodes would pull it and fail to start it"
    return Judgement(architecture, Verdict.UNSUPPORTED, reason, None)


def _of_index(inspected: Inspected, architecture: Architecture) -> Judgement:
    chosen = _chosen(inspected.entries, architecture)
    if chosen is not None and _fits(chosen, architecture):
        return Judgement(architecture, Verdict.SUPPORTED, _why(inspected, chosen), chosen.digest)
    everything = tuple(_flat(inspected.entries))
    if any(_fits(entry, architecture) for entry in everything):
        return Judgement(architecture, Verdict.UNKNOWN, _passed_over(inspected, chosen, architecture), None)
    for entry in everything:
        if entry.kind is EntryKind.UNREADABLE and (entry.platform is None or entry.platform.runs_on(architecture)):
            fault = f"{entry.digest} can't be read: {entry.note}" if entry.digest else entry.note
            reason = f"no readable entry is linux/{architecture}, and {fault}"
            return Judgement(architecture, Verdict.UNKNOWN, reason, None)
    if more := [each for each in _runnable(everything) if each.needs_more_than(architecture)]:
        reason = f"only {_listed(more)}, which does not run on every {architecture} instance; "
        reason += f"containerd only selects linux/{architecture} from an index"
        return Judgement(architecture, Verdict.UNKNOWN, reason, None)
    if everything and not _runnable(everything):
        return Judgement(architecture, Verdict.UNKNOWN, "index has no runnable entry", None)
    return Judgement(architecture, Verdict.UNSUPPORTED, _lacking(everything, architecture), None)


def _chosen(entries: Sequence[PlatformEntry], architecture: Architecture) -> PlatformEntry | None:
    """Return the entry that containerd selects, or None."""
    ranked = [(rank, at) for at, entry in enumerate(entries) if (rank := _rank(entry, architecture)) is not None]
    if not ranked:
        return None
    first = entries[min(ranked)[1]]
    return _chosen(first.children, architecture) if first.kind is EntryKind.INDEX else first


def _rank(entry: PlatformEntry, architecture: Architecture) -> int | None:
    """Return the entry's rank in containerd's order, by what the index declares; None if it is never selected."""
    if not entry.declared or entry.platform is None:
        return _LAST
    if entry.platform.runs_on(architecture):
        return 0
    if entry.platform.os in (LINUX, ""):
        name = (entry.platform.architecture, entry.platform.variant)
        fallbacks = _FALLBACKS[architecture]
        return 1 + fallbacks.index(name) if name in fallbacks and not entry.platform.os_features else None
    return None


def _fits(entry: PlatformEntry, architecture: Architecture) -> bool:
    return entry.kind is EntryKind.IMAGE and entry.platform is not None and entry.platform.runs_on(architecture)


def _flat(entries: Sequence[PlatformEntry]) -> Iterator[PlatformEntry]:
    """Yield the entries of all levels, without nested indexes."""
    for entry in entries:
        if entry.kind is EntryKind.INDEX:
            yield from _flat(entry.children)
        else:
            yield entry


def _why(inspected: Inspected, chosen: PlatformEntry) -> str:
    if not chosen.declared:
        return f"index entry without platform; its config says {chosen.platform}"
    nested = "" if chosen in inspected.entries else "nested "
    return f"{nested}index has {chosen.platform}"


def _passed_over(inspected: Inspected, chosen: PlatformEntry | None, architecture: Architecture) -> str:
    fitting = next(entry for entry in _flat(inspected.entries) if _fits(entry, architecture))
    where = fitting.digest if fitting.declared else f"{fitting.digest}, which has no platform in the index,"
    taken = "an entry" if chosen is None else f"{chosen.digest or 'an entry'} ({_what(chosen)})"
    return f"{where} is linux/{architecture}, but containerd only tries one entry, and {taken} comes first"


def _what(entry: PlatformEntry) -> str:
    if entry.kind is EntryKind.IMAGE:
        return str(entry.platform or "no platform")
    return str(entry.kind)


def _runnable(entries: Sequence[PlatformEntry]) -> list[Platform]:
    return [entry.platform for entry in entries if entry.kind is EntryKind.IMAGE and entry.platform is not None]


def _lacking(entries: Sequence[PlatformEntry], architecture: Architecture) -> str:
    platforms = _runnable(entries)
    if not platforms:
        return "index is empty"
    text = f"index has {_listed(platforms)}, but not linux/{architecture}"
    names = {(platform.architecture, platform.variant) for platform in platforms if platform.os in (LINUX, "")}
    if narrow := [name for name in _FALLBACKS[architecture] if name in names]:
        text += f"; containerd would try linux/{'/'.join(filter(None, narrow[0]))}, which is 32-bit"
    return text


def _listed(platforms: Sequence[Platform]) -> str:
    names = sorted({str(platform) for platform in platforms})
    rest = len(names) - _SHOWN
    shown = [*names[:_SHOWN], f"{rest} more"] if rest > 0 else names
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
