"""What the components for programs of one's own share: checking arguments before anything is declared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any, TypeVar

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi.output import Unknown
from pulumi.runtime.config import CONFIG

from multiarch.errors import KeyPath, MultiarchError, Problem, StackError, merge_warnings
from multiarch.schema.base import Section
from multiarch.schema.charts import Charts
from multiarch.schema.parts import KNOWN_LATER, ControllerCluster
from multiarch.stack.origin import Origin
from multiarch.stack.parts import validate_arguments
from multiarch.stack.schema_paths import find_model, list_fields
from multiarch.today import get_today

from ..component import Component, Naming
from ..kubernetes_api import InCluster
from .arguments_error import ArgumentsError, described

Model = TypeVar("Model", bound=Section)


class Part(Component):
    """Base of the components for programs of one's own."""

    def __init__(
        self,
        name: str,
        warnings: Sequence[Problem],
        opts: pulumi.ResourceOptions | None = None,
        naming: Naming = Naming("", ()),  # noqa: B008  (frozen)
    ) -> None:
        """Register the component, whose arguments are accepted, and show what they warn about."""
        super().__init__(name, naming, opts, module="index")
        for warning in merge_warnings(warnings):
            tell = pulumi.log.info if warning.acknowledged else pulumi.log.warn
            tell(described(warning), self)

    def reach(self, cluster: ControllerCluster, name: str, charts: Charts) -> InCluster:
        """Reach the Kubernetes API of a cluster that is there already."""
        provider = kubernetes.Provider(name, kubeconfig=cluster.kubeconfig, opts=self.child())
        return InCluster(cluster.name, provider, (), charts.registry, charts.image_registries)


@contextmanager
def accepting(component: str) -> Iterator[date]:
    """Give the date to plan for; raise ArgumentsError in place of StackError."""
    try:
        yield get_today()
    except StackError as error:
        raise ArgumentsError(component, error.problems) from error
    except MultiarchError as error:
        raise pulumi.RunError(f"{component}: {error}") from error


def settings(model: type[Model], args: Mapping[str, Any]) -> Model:
    """Validate arguments. Raises StackError, also for a value that is not known yet, where the plan needs it."""
    return validate_arguments(model, plain(model, args))


def plain(model: type[Section], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as a stack file would have them; outputs stay as they are where the schema allows them.

    Raises StackError for an output where the plan needs the value itself.
    """
    unknown = list(_outputs(dict(args), (), model))
    if unknown:
        raise StackError(unknown)
    return {key: integers(value) for key, value in args.items() if value is not None}


def _outputs(value: object, path: KeyPath, model: type[Section]) -> Iterator[Problem]:
    if _known_later(path, model):
        return
    if isinstance(value, pulumi.Output | Unknown):
        message = (
            f"{path[-1]} is an output of another resource or a secret; the plan needs its value before that exists."
        )
        yield Origin().problem("value-known-later", path, message)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _outputs(inner, (*path, str(key)), model)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _outputs(inner, (*path, index), model)


def _known_later(path: KeyPath, model: type[Section]) -> bool:
    if not path:
        return False
    owner = find_model(path[:-1], model)
    field = list_fields(owner).get(str(path[-1])) if owner else None
    return field is not None and KNOWN_LATER in field.metadata


def integers(value: Any) -> Any:  # noqa: ANN401  (any value of JSON, and outputs)
    """Return whole numbers as ``int``: the engine's protocol has floats only. Mappings without what is None."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: integers(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [integers(inner) for inner in value]
    return value


def engine_config() -> dict[str, str]:
    """Return the stack's configuration as the engine hands it over."""
    found = CONFIG.get()
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in dict(found).items()}


def region() -> str | None:
    """Return the stack's ``aws:region``, None where the environment decides."""
    return engine_config().get("aws:region") or None
