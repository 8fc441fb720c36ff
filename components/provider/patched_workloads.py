"""Workloads whose pods may use, prefer or need an architecture.

:func:`architecture_transform` is a function, which a plugin cannot hand to a program in another language. This
component takes manifests and returns them changed, by the same code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from multiarch.errors import MultiarchError
from multiarch.patching.edits import edit_templates
from multiarch.patching.patches import change_object
from multiarch.patching.transform import SchedulingChange
from multiarch.schema import parts
from multiarch.stack.parts import plan_change

from .arguments import PatchedWorkloadsArgs
from .part import Part, accepting, integers, settings


class PatchedWorkloads(Part):
    """Kubernetes manifests with tolerations and node affinities added to every pod template; nothing is taken away.

    It declares nothing in a cluster: pass its outputs on to the resources that do.
    """

    objects: pulumi.Output[list[Any]]
    """The changed objects, in the same order."""

    manifests: pulumi.Output[str | None]
    """The changed text."""

    def __init__(self, name: str, args: PatchedWorkloadsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        """Change the manifests as soon as they are known. Raises ArgumentsError."""
        with accepting(f"PatchedWorkloads {name}"):
            known = settings(parts.PatchedWorkloads, args)
            change = plan_change(known)
        super().__init__(name, (), opts)
        objects = pulumi.Output.from_input([] if known.objects is None else known.objects)
        self.objects = objects.apply(lambda found: _objects(name, found, change))
        self.manifests = pulumi.Output.from_input(known.manifests).apply(lambda text: _text(name, text, change))
        self.register_outputs({"objects": self.objects, "manifests": self.manifests})


def _objects(name: str, found: Sequence[Mapping[str, object]], change: SchedulingChange) -> list[Mapping[str, object]]:
    """Change every object. Raises pulumi.RunError."""
    try:
        return [change_object(integers(each), change) for each in found]
    except MultiarchError as error:
        raise pulumi.RunError(f"PatchedWorkloads {name}: {error}") from error


def _text(name: str, text: str | None, change: SchedulingChange) -> str | None:
    """Change the manifests in a string. Raises pulumi.RunError."""
    if text is None:
        return None
    edited = edit_templates(text, change)
    if edited.faults:
        lines = "".join(f"\n  line {each.line}: {each.message} {each.hint}".rstrip() for each in edited.faults)
        raise pulumi.RunError(f"PatchedWorkloads {name}: nothing was changed:{lines}")
    return edited.text
