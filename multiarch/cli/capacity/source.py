"""What ``multiarch capacity`` keeps of workloads without a budget, and what the images of workloads support."""

from __future__ import annotations

import re

from multiarch.capacity.workloads import ImageSupport, WorkloadName
from multiarch.cli.options.registry import RegistryOptions
from multiarch.cli.terminal import progress, say_notes
from multiarch.cli.workload_input import WorkloadInput
from multiarch.errors import MultiarchError
from multiarch.facts.architectures import Architecture
from multiarch.manifests.disruption_budgets import PodCount
from multiarch.observed.images import look_up
from multiarch.observed.workloads import uses_in
from multiarch.runs.images import list_image_support, name_deployment

_MINIMUM = re.compile(r"([0-9]{1,4})(%?)")
_WHOLE = 100


def supported_by_images(given: WorkloadInput, registries: RegistryOptions) -> dict[WorkloadName, ImageSupport]:
    """Return what the images of each workload support, by registry look-ups."""
    if given.cluster is None:
        uses = uses_in(given.objects)
    else:
        uses = [name_deployment(each) for each in uses_in(given.cluster.running.pods)]
    with progress("reading images") as step:
        images = look_up(uses, Architecture, registries.access, credentials=given.credentials, progress=step)
    say_notes(images.notes)
    return list_image_support(images)


def pod_count(text: str) -> PodCount:
    """Read ``--minimum``. Raises MultiarchError for anything but a number or a percentage up to 100."""
    found = _MINIMUM.fullmatch(text)
    if found is None or (found[2] and int(found[1]) > _WHOLE):
        raise MultiarchError(f"--minimum {text}: must be a number of pods, or a percentage up to 100%.")
    return PodCount(int(found[1]), percent=bool(found[2]))
