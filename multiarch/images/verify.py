"""Verify an image: the index against the config, and both against the binaries in the layers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.images.elf import Elf, Script
from multiarch.images.entry_point import StartCommand, follow_entry_point, read_start_command
from multiarch.images.file_tree import FileTree, Lookup, LowerLayerNeededError
from multiarch.images.inspect import fetch_config, inspect_image
from multiarch.images.layers import Layer, LayerBudget, is_layer, read_layer
from multiarch.images.manifests import identify_kind, list_objects, read_descriptor
from multiarch.images.model import LINUX, ImageKind, Inspected, Platform, Verdict, escape_printable, read_platform
from multiarch.images.unpacking import LayerError
from multiarch.images.verdict import judge_image
from multiarch.registry.model import Descriptor, Registry, read_object
from multiarch.registry.operation import limit_time
from multiarch.registry.reference import Reference

__all__ = ["Check", "ImageVerification", "verify_platform"]

FOREIGN_KEPT = 10_000
"""Maximum number of files of another architecture that are listed; all are counted."""
PATH_SHOWN = 1000
"""The most characters shown of a path, or of a reason with paths."""
SECONDS = 600.0
"""The time limit of one verification."""
Progress = Callable[[int, int], None]
"""Takes how much is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison with the platform: ``supported`` if it matches, ``unsupported`` if not."""

    subject: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class ForeignFile:
    """An ELF file of another architecture. ``hidden``: an upper layer replaces or removes it."""

    path: str
    found: str
    layer: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of ``--deep``: counts of visible and hidden ELF files, and those of another architecture by path.

    ``more`` counts the foreign files that are not listed.
    """

    files: int
    hidden: int
    foreign: tuple[ForeignFile, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class ImageVerification:
    """The result. ``digest`` is that of the manifest that was read; None if the index has none."""

    reference: Reference
    platform: Platform
    digest: str | None
    checks: tuple[Check, ...]
    scan: Scan | None = None

    @property
    def verdict(self) -> Verdict:
        """``unsupported`` if any check is, else ``unknown`` if any is, else ``supported``."""
        found = {check.verdict for check in self.checks}
        return next(each for each in (Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.SUPPORTED) if each in found)


async def verify_platform(
    registry: Registry,
    reference: Reference,
    platform: Platform,
    *,
    deep: bool = False,
    budget: LayerBudget | None = None,
    seconds: float = SECONDS,
    progress: Progress = lambda _done, _all: None,
) -> ImageVerification:
    """Check that an image is really for the platform that it declares.

    Layers are read from the last to the first until the entry point is found; ``deep`` reads all of them and lists
    every ELF file of another architecture. All of it takes ``seconds`` at most. ``progress(done, all)`` gets bytes as
    the registry sends them.

    Raises:
        MultiarchError: the platform is not Linux on amd64 or arm64.
        RegistryError: a request to the registry fails, or (TIMEOUT) the time is up.
    """
    architecture = _architecture(platform)
    async with limit_time(reference, seconds) as deadline:
        inspected = await inspect_image(registry, reference)
        first, digest = _declared(inspected, platform, architecture)
        if digest is None:
            return ImageVerification(reference, platform, None, (first,))
        at = reference.at(digest)
        manifest = await registry.manifest(at)
        content = read_object(manifest.content, at)
        kind, note = identify_kind(manifest.media_type, content)
        if kind is not ImageKind.IMAGE:
            return ImageVerification(reference, platform, digest, (first, Check("manifest", Verdict.UNSUPPORTED, note)))
        config = await fetch_config(registry, at, content)
        checks = [first, _of_config(config, platform)] if inspected.kind is ImageKind.INDEX else [first]
        tree = FileTree(deadline=deadline)
        budget = replace(budget or LayerBudget(), deadline=deadline)
        reading = _LayerReader(registry, at, architecture, budget, progress, tree, deep=deep)
        checks += await reading.checks(config, content)
        return ImageVerification(reference, platform, digest, tuple(checks), reading.scan() if deep else None)


def _architecture(platform: Platform) -> Architecture:
    if platform.os == LINUX and platform.architecture in set(Architecture):
        return Architecture(platform.architecture)
    known = ", ".join(f"linux/{architecture}" for architecture in Architecture)
    raise MultiarchError(f"Can't verify {platform}.", hint=f"Use {known}, with or without a variant.")


def _declared(inspected: Inspected, platform: Platform, architecture: Architecture) -> tuple[Check, str | None]:
    """Return the check of the index, or of a single manifest's config, and the digest of the manifest to read."""
    subject = "index" if inspected.kind is ImageKind.INDEX else "config"
    exact = next((entry for entry in inspected.entries if entry.platform == platform), None)
    if platform.variant and exact is not None:
        return Check(subject, Verdict.SUPPORTED, f"declares {platform}"), exact.digest
    if platform.variant:
        return Check(subject, Verdict.UNSUPPORTED, f"has no {platform}"), None
    judged = judge_image(inspected, architecture)
    if inspected.kind is ImageKind.IMAGE:
        # The binary is checked even if the config is wrong.
        return Check(subject, judged.verdict, judged.reason), inspected.digest
    return Check(subject, judged.verdict, judged.reason), judged.digest


def _of_config(config: Mapping[str, object], platform: Platform) -> Check:
    found = read_platform(config)
    # A config may omit the variant that its index entry has.
    if not found.architecture:
        return Check("config", Verdict.UNKNOWN, "declares no architecture")
    matches = (found.os, found.architecture) == (platform.os, platform.architecture)
    if matches and found.variant in (platform.variant, ""):
        return Check("config", Verdict.SUPPORTED, f"declares {found}")
    return Check("config", Verdict.UNSUPPORTED, f"declares {found}, but the index declares {platform}")


@dataclass(slots=True)
class _LayerReader:
    """Reads the layers of one image from the top down."""

    registry: Registry
    reference: Reference
    architecture: Architecture
    budget: LayerBudget
    progress: Progress
    tree: FileTree
    deep: bool
    foreign: list[ForeignFile] = field(default_factory=list)
    files: int = 0
    hidden: int = 0
    more: int = 0

    async def checks(self, config: Mapping[str, object], content: Mapping[str, object]) -> list[Check]:
        """Read as many layers as needed, and return the checks."""
        start = read_start_command(config)
        rows = list_objects(content.get("layers"))
        descriptors = [read_descriptor(row) for row in reversed(rows)]
        sizes = sum(each.size for each in descriptors if each is not None)
        found: tuple[Lookup, ...] | None = None
        fault = ""
        done = 0
        for descriptor in descriptors:
            found = self._steps(start) if found is None else found
            if fault or (not self.deep and (found is not None or not start.command)):
                break
            fault = await self._layer(descriptor, done=done, total=sizes)
            done += 0 if descriptor is None else descriptor.size
        # Below a layer that can't be read, everything is unknown.
        self.tree.complete = not fault and len(self.tree.layers) == len(rows)
        found = self._steps(start) if found is None else found
        entry = _of_entry_point(start, found, self.architecture, fault)
        return [entry, self._of_scan(fault)] if self.deep else [entry]

    def scan(self) -> Scan:
        """Return the ELF files found."""
        return Scan(self.files, self.hidden, tuple(sorted(self.foreign)), self.more)

    def _steps(self, start: StartCommand) -> tuple[Lookup, ...] | None:
        try:
            return follow_entry_point(self.tree, start) if start.command else None
        except LowerLayerNeededError:
            return None

    async def _layer(self, descriptor: Descriptor | None, *, done: int, total: int) -> str:
        """Read one more layer. Returns its fault, or an empty string."""
        if descriptor is None:
            return "the manifest has an invalid layer descriptor"
        if not is_layer(descriptor.media_type):
            return f"layer {descriptor.digest}: unsupported media type {escape_printable(descriptor.media_type)}"
        try:
            async with aclosing(self._chunks(descriptor, done, total)) as chunks:
                layer = await read_layer(descriptor.digest, chunks, self.budget, elves=self.deep)
        except LayerError as error:
            return f"layer {descriptor.digest}: {error.message}"
        self._count(layer)
        self.tree.layers.append(layer)
        return ""

    async def _chunks(self, descriptor: Descriptor, done: int, total: int) -> AsyncGenerator[bytes, None]:
        async with aclosing(self.registry.stream(self.reference, descriptor)) as stream:
            async for chunk in stream:
                done += len(chunk)
                self.progress(done, total)
                yield chunk

    def _count(self, layer: Layer) -> None:
        """Count a layer's ELF files; the tree holds the layers above it."""
        for path, elf in layer.elves.items():
            hidden = self.tree.hidden(path)
            self.hidden += hidden
            self.files += not hidden
            if elf.architecture is self.architecture or not elf.is_for_a_processor:
                continue
            if len(self.foreign) < FOREIGN_KEPT:
                self.foreign.append(
                    ForeignFile(escape_printable(f"/{path}", PATH_SHOWN), str(elf), layer.digest, hidden)
                )
            else:
                self.more += 1
        layer.elves.clear()

    def _of_scan(self, fault: str) -> Check:
        if fault:
            return Check("layers", Verdict.UNKNOWN, f"not all layers could be read: {fault}")
        seen = sum(not each.hidden for each in self.foreign) + self.more
        if seen:
            reason = f"{seen} of {_elf_files(self.files)} {'is' if seen == 1 else 'are'} of another architecture"
            return Check("layers", Verdict.UNSUPPORTED, reason)
        return Check("layers", Verdict.SUPPORTED, f"{_elf_files(self.files)}, none of another architecture")


def _of_entry_point(
    start: StartCommand, found: tuple[Lookup, ...] | None, architecture: Architecture, fault: str
) -> Check:
    subject = "entry point"
    if not start.command:
        return Check(subject, Verdict.UNKNOWN, "the config has no command; the pod's command decides")
    if found is None:
        return Check(subject, Verdict.UNKNOWN, fault)
    wrong = [step for step in found if isinstance(step.head, Elf) and step.head.architecture is not architecture]
    if wrong:
        return Check(subject, Verdict.UNSUPPORTED, _shown(f"{wrong[0].path} is {wrong[0].head}{_via(found, wrong[0])}"))
    for step in found:
        if not isinstance(step.head, Elf | Script):
            reason = step.why or f"{step.path} is {step.head}"
            return Check(subject, Verdict.UNKNOWN, _shown(f"{reason}{_via(found, step)}"))
    reason = f"{found[-1].path} is {architecture}{_via(found, found[-1])}"
    if start.runs_shell_text:
        reason += "; what the shell starts is not checked"
    return Check(subject, Verdict.SUPPORTED, _shown(reason))


def _shown(reason: str) -> str:
    return escape_printable(reason, PATH_SHOWN)


def _via(found: tuple[Lookup, ...], step: Lookup) -> str:
    before = [each.path for each in found[: found.index(step)]]
    return f", via {', '.join(before)}" if before else ""


def _elf_files(number: int) -> str:
    return "1 ELF file" if number == 1 else f"{number} ELF files"
