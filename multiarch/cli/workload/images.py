"""``workload patch --check-images``: whether the images of pod templates run on the architecture that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import progress

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.cli.workload.files import EditedFile
    from multiarch.facts.architectures import Architecture
    from multiarch.images.model import Judgement
    from multiarch.patching.edits import Outcome
    from multiarch.registry.model import Registry

_Judged = Mapping[tuple[str, str, bool], Sequence["Judgement"]]


def with_checked_images(
    files: Sequence[EditedFile], architectures: Sequence[Architecture], registries: RegistryOptions
) -> list[EditedFile]:
    """The files, with a fault for every image that lacks an architecture, and a note for one that can't be read."""
    outcomes = [outcome for each in files for outcome in each.edited.outcomes]
    uses = [use for outcome in outcomes for use in _uses(outcome)]

    async def audited(registry: Registry) -> ImageAudit:
        from multiarch.audit.images import audit_images

        with progress("reading images") as step:
            return await audit_images(registry, uses, architectures, looked_up=step)

    judged = ask(registries, audited).by_use()
    return [_checked(each, judged) for each in files]


def _checked(file: EditedFile, judged: _Judged) -> EditedFile:
    from multiarch.images.model import Verdict
    from multiarch.patching.edits import Fault

    faults, outcomes = list(file.edited.faults), []
    for outcome in file.edited.outcomes:
        notes = list(outcome.transformed.notes)
        for use, found in _found(outcome, judged):
            image = f"image {use.image or '(none)'} ({use.role} {use.container})"
            if found.verdict is Verdict.UNSUPPORTED:
                message = f"{outcome.template.title}: {image} does not support {found.architecture}: {found.reason}."
                hint = f"Build it for {found.architecture}, or leave this workload out."
                faults.append(Fault(outcome.line, message, hint))
            elif found.verdict is Verdict.UNKNOWN:
                notes.append(f"{image}: support for {found.architecture} is unknown: {found.reason.rstrip('.')}")
        outcomes.append(replace(outcome, transformed=replace(outcome.transformed, notes=tuple(notes))))
    return replace(file, edited=replace(file.edited, outcomes=tuple(outcomes), faults=tuple(faults)))


def _found(outcome: Outcome, judged: _Judged) -> Iterator[tuple[ImageUse, Judgement]]:
    for use in _uses(outcome):
        for found in judged[use.asked]:
            yield use, found


def _uses(outcome: Outcome) -> list[ImageUse]:
    from multiarch.audit.uses import uses_of_pod_spec
    from multiarch.manifests.owners import WorkloadKey

    template = outcome.template
    return list(
        uses_of_pod_spec(template.spec.mapping(), WorkloadKey(template.namespace, template.kind, template.name))
    )
