"""The policy for DaemonSets, which run on every node: their images have to support every architecture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from multiarch.images.model import Judgement, Verdict
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.observed.resources.properties import require_items, require_text, require_value
from multiarch.policies.model import Policy
from multiarch.scheduling.architectures import list_allowed_architectures

DAEMON_SET = "kubernetes:apps/v1:DaemonSet"

Judge = Callable[[str], Sequence[Judgement]]
"""The verdicts of an image, one per architecture; ``unknown`` with its reason for one that can't be read."""


def build_daemon_set_policy(judge: Judge) -> Policy:
    """Return the policy, with what looks an image up."""

    def examine(resource: DeclaredResource, _: Sequence[DeclaredResource]) -> Iterator[str]:
        spec = require_value(resource.inputs, "spec.template.spec") or {}
        allowed = list_allowed_architectures(spec)
        for image in _images(spec):
            for judgement in judge(image):
                if judgement.architecture in allowed and judgement.verdict is not Verdict.SUPPORTED:
                    yield f"{image} on {judgement.architecture} nodes: {judgement.verdict}: {judgement.reason}."

    return Policy(
        "policy-daemonset-architectures",
        frozenset({DAEMON_SET}),
        examine,
    )


def _images(spec: Mapping[str, object]) -> list[str]:
    """Return the images of containers of all kinds, and of volumes, each once."""
    found = [
        require_text(container, "image")
        for key in ("initContainers", "containers", "ephemeralContainers")
        for container in require_items(spec, key)
    ]
    found += [require_text(volume, "image.reference") for volume in require_items(spec, "volumes")]
    return [image for image in dict.fromkeys(found) if image]
