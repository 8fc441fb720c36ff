"""A Pulumi transform that adds a toleration, a preference or a requirement of an architecture to all workloads.

It does what ``multiarch workload patch`` does to manifests, by the same code, to resources of pulumi_kubernetes:
typed ones, ``…Patch`` resources, and custom ones with a pod template. Values that are known are changed in place, also
inside outputs. While a preview does not know a pod's nodeSelector, affinity or tolerations, that pod
is left alone and the preview says so; the update knows them, and changes it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import pulumi
from pulumi.output import UNKNOWN, Unknown
from pulumi.runtime.rpc import is_rpc_secret, unwrap_rpc_secret

from multiarch.errors import KeyPath, MultiarchError
from multiarch.manifests.templates import PodSpecPlace, find_templates
from multiarch.manifests.values import ManifestError
from multiarch.patching.transform import SchedulingChange, transform_pod_spec
from multiarch.yaml_text.additions import APPEND

__all__ = ["architecture_transform"]

Transform = Callable[[pulumi.ResourceTransformArgs], Awaitable[pulumi.ResourceTransformResult | None]]
Selects = Callable[[pulumi.ResourceTransformArgs], bool]

_PACKAGE = "kubernetes:"
_NOT_OBJECTS = ("kubernetes:helm.sh/", "kubernetes:yaml", "kubernetes:kustomize")
_PATCH = "Patch"
_RULES = ("nodeSelector", "affinity", "tolerations")


def architecture_transform(change: SchedulingChange, *, selects: Selects | None = None) -> Transform:
    """Return a transform for ``ResourceOptions(transforms=[…])`` or ``pulumi.runtime.register_resource_transform``.

    ``selects`` chooses resources, all by default. The transform raises pulumi.RunError, naming the
    resource, for a pod spec that the API server rejects, and where the pod's own rules exclude the architecture.
    """

    async def apply(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if not _is_object(args) or (selects is not None and not selects(args)):
            return None
        try:
            props = await _changed(args, change)
        except MultiarchError as error:
            raise pulumi.RunError(f"{args.type_} {args.name}: {error}") from error
        return None if props is None else pulumi.ResourceTransformResult(props=props, opts=args.opts)

    return apply


def _is_object(args: pulumi.ResourceTransformArgs) -> bool:
    return args.custom and args.type_.startswith(_PACKAGE) and not args.type_.startswith(_NOT_OBJECTS)


async def _changed(args: pulumi.ResourceTransformArgs, change: SchedulingChange) -> Mapping[str, object] | None:
    """Return the properties with all additions made, or ``None`` if there are none to make."""
    known = await _known(args.props)
    if not isinstance(known, Mapping):
        return None
    try:
        templates = [each for each in find_templates(_manifest(args, known), 1) if isinstance(each, PodSpecPlace)]
    except ManifestError:
        if not _has_unknowns(known):
            raise
        templates = []
        _say_left_alone(args)
    props: object = args.props
    for template in templates:
        if any(_has_unknowns(_at(known, (*template.path, rule))) for rule in _RULES):
            _say_left_alone(args)
            continue
        for addition in transform_pod_spec(template.spec, change).additions:
            props = _added(props, (*template.path, *addition.path), addition.value)
    return props if isinstance(props, Mapping) and props is not args.props else None


def _say_left_alone(args: pulumi.ResourceTransformArgs) -> None:
    pulumi.log.info(f"{args.type_} {args.name}: left unchanged until its pod's scheduling fields are known")


def _manifest(args: pulumi.ResourceTransformArgs, known: Mapping[str, object]) -> object:
    """Return the object as a manifest, with what is not known omitted; its name is the resource's."""
    version, _, kind = args.type_.removeprefix(_PACKAGE).rpartition(":")
    props = _without_unknowns(known)
    return {
        **(props if isinstance(props, dict) else {}),
        "apiVersion": version.removeprefix("core/"),
        "kind": kind.removesuffix(_PATCH) or kind,
        "metadata": {"name": args.name},
    }


async def _known(value: object) -> object:
    """Return the value without outputs and secrets around its parts, with integers as ``int``.

    The engine's protocol has floats only.
    """
    if isinstance(value, pulumi.Output):
        found: object = await value.future(with_unknowns=True) if await value.is_known() else UNKNOWN
        return await _known(found)
    if is_rpc_secret(value):
        return await _known(unwrap_rpc_secret(value))
    if isinstance(value, Mapping):
        return {key: await _known(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [await _known(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _has_unknowns(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_unknowns, value.values()))
    return any(map(_has_unknowns, value)) if isinstance(value, list) else isinstance(value, Unknown)


def _without_unknowns(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_unknowns(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_unknowns(inner) for inner in value]
    return None if isinstance(value, Unknown) else value


def _at(value: object, path: KeyPath) -> object:
    """Return the value at a path, or the unknown value above it."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key]
        else:
            break
    return value


def _added(target: object, path: KeyPath, value: object) -> object:
    """Add to a copy. Outputs and secrets around the values on the path are kept."""
    if isinstance(target, pulumi.Output):
        return target.apply(lambda inner: _added(inner, path, value))
    if is_rpc_secret(target) and isinstance(target, Mapping):
        return {**target, "value": _added(target["value"], path, value)}
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(target, Mapping):
        return {**target, key: _added(target.get(key), rest, value)}
    if isinstance(target, list | tuple) and key == APPEND:
        return [*target, value]
    if isinstance(target, list | tuple) and isinstance(key, int):
        return [*target[:key], _added(target[key], rest, value), *target[key + 1 :]]
    raise TypeError(key)
