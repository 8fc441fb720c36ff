"""Whether the images of pods run on arm64, by their registries; each image is looked up once in a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from multiarch.cli import reading
from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import progress
from multiarch.facts.architectures import Architecture

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.images.model import Judgement
    from multiarch.kubernetes.cluster import Cluster
    from multiarch.kubernetes.source import LoadedObject
    from multiarch.registry.model import Registry

_Asked = tuple[str, str, bool]


class ImageJudge:
    """Asks registries, with the credentials of the pods."""

    def __init__(self, cluster: Cluster, options: RegistryOptions) -> None:
        """``cluster`` has the pull secrets."""
        self._cluster = cluster
        self._options = options
        self._known: dict[_Asked, Judgement] = {}

    def __call__(self, pods: Sequence[LoadedObject]) -> Mapping[str, str]:
        """Say by uid why the images of a pod do not run on arm64, or that it is unknown; fine pods are left out."""
        uses = {str(each.value["metadata"]["uid"]): _uses(each) for each in pods}
        self._look_up([use for several in uses.values() for use in several if use.asked not in self._known])
        return {uid: why for uid, several in uses.items() if (why := self._why_not(several))}

    def _look_up(self, uses: Sequence[ImageUse]) -> None:
        if not uses:
            return

        async def audited(registry: Registry) -> ImageAudit:
            from multiarch.audit.images import audit_images

            with progress("reading images") as step:
                return await audit_images(registry, uses, (Architecture.ARM64,), looked_up=step)

        secrets = reading.pull_secrets(self._cluster, uses)
        # A replacement on another node pulls what the tag points at now.
        found = ask(self._options, audited, credentials=secrets, fresh_tags=True).by_use()
        self._known.update({asked: judgement for asked, (judgement,) in found.items()})

    def _why_not(self, uses: Sequence[ImageUse]) -> str:
        from multiarch.images.model import Verdict

        for use in uses:
            found = self._known[use.asked]
            if found.verdict is Verdict.UNSUPPORTED:
                return f"image {use.image} does not support arm64: {found.reason.rstrip('.')}"
            if found.verdict is Verdict.UNKNOWN:
                return f"image {use.image or '(none)'}: support for arm64 is unknown: {found.reason.rstrip('.')}"
        return ""


def _uses(pod: LoadedObject) -> list[ImageUse]:
    from multiarch.audit.uses import uses_of_pod_spec
    from multiarch.manifests.owners import key_of

    return list(uses_of_pod_spec(pod.value.get("spec") or {}, key_of(pod.value)))
