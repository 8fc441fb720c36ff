"""One image, its platforms and its binaries; and what the images of workloads and pods support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from multiarch.capacity.sources import get_image_support
from multiarch.capacity.workloads import ImageSupport, WorkloadName
from multiarch.facts.architectures import Architecture
from multiarch.images.inspect import SECONDS as INSPECTION_SECONDS
from multiarch.images.inspect import inspect_manifest
from multiarch.images.model import Inspected, Judgement, Platform, Verdict
from multiarch.images.verdict import judge_image
from multiarch.images.verify import SECONDS as VERIFICATION_SECONDS
from multiarch.images.verify import ImageVerification, verify_platform
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.source import LoadedObject
from multiarch.manifests.owners import get_workload_key
from multiarch.observed.images import Progress, RegistryAccess, ignore_progress, look_up, use_registry
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.observed.verdicts import ImageVerdicts
from multiarch.observed.workloads import ImageUse, list_pod_spec_uses
from multiarch.registry.model import Manifest, Registry
from multiarch.registry.operation import limit_time
from multiarch.registry.reference import parse_reference

_ARM = Architecture.ARM64


@dataclass(frozen=True, slots=True)
class Inspection:
    """An image's platforms, and the verdict per architecture."""

    inspected: Inspected
    judgements: tuple[Judgement, ...]


def inspect_image(image: str, access: RegistryAccess) -> Inspection:
    """Read the platforms of an image. Raises MultiarchError for an invalid name, and if the image can't be read."""

    async def read(registry: Registry) -> Inspected:
        reference = parse_reference(image)
        async with limit_time(reference, access.seconds or INSPECTION_SECONDS):
            return await inspect_manifest(registry, reference, await registry.manifest(reference))

    inspected = use_registry(access, read)
    return Inspection(inspected, tuple(judge_image(inspected, each) for each in Architecture))


def read_raw_manifest(image: str, access: RegistryAccess) -> Manifest:
    """Read an image's manifest or index as the registry sends it. Raises as :func:`inspect_image` does."""
    return use_registry(access, lambda registry: registry.manifest(parse_reference(image)))


def verify_image(
    image: str, platform: Platform, access: RegistryAccess, *, deep: bool = False, progress: Progress = ignore_progress
) -> ImageVerification:
    """Check that an image has the binaries of ``platform``.

    ``progress`` is called with bytes. Raises MultiarchError as :func:`multiarch.images.verify.verify_platform` does.
    """
    reference = parse_reference(image)
    seconds = access.seconds or VERIFICATION_SECONDS
    return use_registry(
        access,
        lambda registry: verify_platform(registry, reference, platform, deep=deep, seconds=seconds, progress=progress),
    )


def list_image_support(images: ImageVerdicts) -> dict[WorkloadName, ImageSupport]:
    """Return what the images of each workload support; workloads whose images support both are omitted."""
    return get_image_support(
        ((use.workload.namespace, str(use.workload)), row.image, judgement)
        for row in images.rows
        for use in row.uses
        for judgement in row.judgements
    )


@dataclass(slots=True)
class Arm64ImageJudge:
    """Judges the images of a cluster's pods for arm64; each image is looked up once in a run.

    ``note`` is called with what could not be read besides.
    """

    cluster: KubernetesCluster
    access: RegistryAccess
    note: Callable[[str], None]
    progress: Callable[[], AbstractContextManager[Progress]]
    _known: dict[tuple[str, str, bool], Judgement] = field(default_factory=dict)

    def __call__(self, pods: Sequence[LoadedObject]) -> Mapping[str, str]:
        """Return by uid why the images of a pod do not run on arm64, or that it is unknown; other pods are omitted."""
        uses = {
            str(each.value["metadata"]["uid"]): list(
                list_pod_spec_uses(each.value.get("spec") or {}, get_workload_key(each.value))
            )
            for each in pods
        }
        self._look_up([use for several in uses.values() for use in several if use.question not in self._known])
        return {uid: why for uid, several in uses.items() if (why := self._find_fault(several))}

    def _look_up(self, uses: Sequence[ImageUse]) -> None:
        if not uses:
            return
        found = read_pull_secrets(self.cluster, uses)
        with self.progress() as step:
            images = look_up(uses, [_ARM], self.access, credentials=found.credentials, progress=step)
        for each in found.notes:
            self.note(each)
        self._known.update({asked: row.judged(_ARM) for asked, row in images.by_use().items()})

    def _find_fault(self, uses: Sequence[ImageUse]) -> str:
        for use in uses:
            found = self._known[use.question]
            if found.verdict is Verdict.UNSUPPORTED:
                return f"image {use.image} does not support arm64: {found.reason.rstrip('.')}"
            if found.verdict is Verdict.UNKNOWN:
                return f"image {use.image or '(none)'}: support for arm64 is unknown: {found.reason.rstrip('.')}"
        return ""
