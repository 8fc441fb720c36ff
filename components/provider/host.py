"""Serve the components as a Pulumi plugin: its schema is inferred from their typed arguments and outputs.

``python -m multiarch_eks.provider`` runs it, as do ``pulumi-resource-multiarch-eks``, which the wheel installs, and
``provider/PulumiPlugin.yaml``.
"""

from __future__ import annotations

import json
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
from .part import PACKAGE

COMPONENTS: list[type[pulumi.ComponentResource]] = [Platform, NodeGroup, Karpenter, ClusterAutoscaler, PatchedWorkloads]
_DESCRIPTION = "Amazon EKS with amd64 and arm64 (Graviton) nodes."


class Host(ComponentProvider):
    """What ``component_provider_host`` serves, but that a component's refusal reaches the user as it is.

    The SDK adds a traceback to every error of a component, and drops arguments that it does not know.
    """

    def __init__(self) -> None:
        """Infer the schema."""
        super().__init__(COMPONENTS, PACKAGE, version=multiarch.__version__)
        self.schema = json.dumps(schema(json.loads(self.schema or "{}")))

    def map_inputs(self, inputs: Mapping[str, Any], component_def: ComponentDefinition) -> Mapping[str, Any]:  # noqa: ARG002
        """All inputs as they are: the components check them, and have the schema's names themselves."""
        return inputs

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Declare a component. Raises InputPropertiesError for what it refuses."""
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as failed:
            refusal = failed.inner
            if isinstance(refusal, ArgumentsError):
                problems: list[InputPropertyErrorDetails] = [
                    {"property_path": each.key or "", "reason": described(replace(each, key=None))}
                    for each in refusal.problems
                ]
                raise InputPropertiesError("", problems) from None
            if isinstance(refusal, pulumi.RunError | MultiarchError):
                raise InputPropertiesError(str(refusal)) from None
            raise


def schema(inferred: dict[str, Any]) -> dict[str, Any]:
    """The inferred schema with what a package's page shows, and with descriptions in one line."""
    described: dict[str, Any] = _tidy(inferred)
    return {"description": _DESCRIPTION, "license": "Apache-2.0", **described}


def _tidy(value: Any) -> Any:  # noqa: ANN401  (JSON)
    if not isinstance(value, dict):
        return value
    tidied = {}
    for key, inner in value.items():
        if key == "description" and isinstance(inner, str):
            tidied[key] = " ".join(inner.split())
        elif key in ("items", "additionalProperties"):  # the analyzer gives them the property's own description
            tidied[key] = _tidy({name: part for name, part in inner.items() if name != "description"})
        else:
            tidied[key] = _tidy(inner)
    return tidied


def main() -> None:
    """Serve the components to the engine that started this process."""
    serve(Host(), sys.argv[1:])
