"""Serve the components as a Pulumi plugin.

``python -m multiarch_eks.provider`` runs it, as do ``pulumi-resource-multiarch-eks``, which the wheel installs, and
``provider/PulumiPlugin.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi
from pulumi.errors import InputPropertiesError, InputPropertyErrorDetails
from pulumi.provider import ConstructResult
from pulumi.provider import main as serve
from pulumi.provider.experimental.analyzer import ComponentDefinition
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

import multiarch
from multiarch.errors import MultiarchError

from . import ClusterAutoscaler, Karpenter, NodeGroup, PatchedWorkloads, Platform
from .arguments_error import ArgumentsError, described
from .schema import PACKAGE, complete_schema

COMPONENTS: list[type[pulumi.ComponentResource]] = [Platform, NodeGroup, Karpenter, ClusterAutoscaler, PatchedWorkloads]


class Host(ComponentProvider):
    """What ``component_provider_host`` serves, but that a component's rejection reaches the user as it is.

    The SDK adds a traceback to every error of a component, and drops arguments that it does not know.
    """

    def __init__(self) -> None:
        """Make the schema."""
        super().__init__(COMPONENTS, PACKAGE, version=multiarch.__version__)
        self.schema = complete_schema(self.schema or "{}")

    def map_inputs(self, inputs: Mapping[str, Any], component_def: ComponentDefinition) -> Mapping[str, Any]:  # noqa: ARG002
        """Return all inputs as they are: the components check them, and have the schema's names themselves."""
        return inputs

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Declare a component. Raises InputPropertiesError for what it rejects."""
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as failed:
            rejection = failed.inner
            if isinstance(rejection, ArgumentsError):
                problems: list[InputPropertyErrorDetails] = [
                    {"property_path": each.key or "", "reason": described(replace(each, key=None))}
                    for each in rejection.problems
                ]
                raise InputPropertiesError("", problems) from None
            if isinstance(rejection, pulumi.RunError | MultiarchError):
                raise InputPropertiesError(str(rejection)) from None
            raise


def main() -> None:
    """Serve the components to the engine that started this process."""
    serve(Host(), sys.argv[1:])
