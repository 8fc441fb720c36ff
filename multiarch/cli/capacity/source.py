"""What ``multiarch capacity`` keeps of workloads without a budget, and what the images of workloads support."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from multiarch.cli.options.registry import RegistryOptions, ask
from multiarch.cli.terminal import progress
from multiarch.errors import MultiarchError

if TYPE_CHECKING:
    from multiarch.audit.images import ImageAudit
    from multiarch.audit.uses import ImageUse
    from multiarch.capacity.workloads import ImageSupport, WorkloadName
    from multiarch.cli.workload_input import WorkloadInput
    from multiarch.manifests.disruption_budgets import PodCount
    from multiarch.registry.model import Registry

_MINIMUM = re.compile(r"([0-9]{1,4})(%?)")
_WHOLE = 100
_TEMPLATE_HASH = "pod-template-hash"


def supported_by_images(given: WorkloadInput, registries: RegistryOptions) -> dict[WorkloadName, ImageSupport]:
    """What the images of each workload support, by registry look-ups."""
    from multiarch.audit.images import audit_images
    from multiarch.audit.uses import uses_in
    from multiarch.facts.architectures import Architecture

    if given.cluster is None:
        uses = list(uses_in(given.objects))
    else:
        uses = [_of_deployment(each) for each in uses_in(given.cluster.running.pods)]

    async def audited(registry: Registry) -> ImageAudit:
        with progress("reading images") as step:
            return await audit_images(registry, uses, tuple(Architecture), looked_up=step)

    return support_of(ask(registries, audited, credentials=given.credentials))


def support_of(audit: ImageAudit) -> dict[WorkloadName, ImageSupport]:
    """What an audit says about the images of each workload."""
    from multiarch.capacity.sources import image_support

    return image_support(
        ((use.workload.namespace, str(use.workload)), row.image, judgement)
        for row in audit.rows
        for use in row.uses
        for judgement in row.judgements
    )


def _of_deployment(use: ImageUse) -> ImageUse:
    """The use under the name of its pod's Deployment, which the hash of the pod template tells."""
    from dataclasses import replace

    made = dict(use.labels).get(_TEMPLATE_HASH, "")
    name = use.workload.name.removesuffix(f"-{made}")
    if use.workload.kind != "ReplicaSet" or not made or name == use.workload.name:
        return use
    return replace(use, workload=replace(use.workload, kind="Deployment", name=name))


def pod_count(text: str) -> PodCount:
    """Read ``--minimum``. Raises MultiarchError for anything but a number or a percentage up to 100."""
    from multiarch.manifests.disruption_budgets import PodCount

    found = _MINIMUM.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _WHOLE):
        raise MultiarchError(f"--minimum {text}: must be a number of pods, or a percentage up to 100%.")
    return PodCount(int(found[1]), percent=bool(found[2]))
