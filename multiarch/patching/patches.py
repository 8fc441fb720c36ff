"""The same changes as patches: JSON Patch, strategic merge, and kustomize.

Strategic merge replaces a list that has no merge key, and neither ``tolerations`` nor ``nodeSelectorTerms`` nor
preferred terms have one
(https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/). So such a patch carries
each of these lists whole, and must be made again when the list changes; JSON Patch appends to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from multiarch.errors import KeyPath, MultiarchError
from multiarch.manifests.templates import PodSpecPlace, UnknownContainers, find_templates
from multiarch.patching.transform import SchedulingChange, Transformed, transform_pod_spec
from multiarch.yaml_text.additions import Addition, add_values

__all__ = ["build_json_patch", "build_kustomize_component", "build_strategic_merge_patch"]

KUSTOMIZE_COMPONENT = "kustomize.config.k8s.io/v1alpha1"

Json = dict[str, object]


def build_json_patch(additions: Iterable[Addition], prefix: KeyPath = ()) -> list[Json]:
    """Write additions as JSON Patch operations (RFC 6902), all of them ``add``; ``prefix`` leads to the pod's spec.

    A key that holds null is written over, which ``add`` does.
    """
    return [{"op": "add", "path": _pointer((*prefix, *each.path)), "value": each.value} for each in additions]


def build_strategic_merge_patch(manifest: Mapping[str, object], change: SchedulingChange) -> Json | None:
    """Return what ``kubectl patch --type=strategic`` has to be given for one object, or ``None`` if nothing changes.

    The patch names the object (apiVersion, kind, name, and namespace if it is written). The API server merges no object
    of a CustomResourceDefinition this way; as a JSON merge patch (RFC 7386) the same body does the same there.
    Raises ManifestError for what the API server rejects, ContradictionError where the object's own rules exclude the
    architecture, MultiarchError for a list of objects, for one without a name, and for a pod spec within a list, which
    a merge would replace.
    """
    changes = list_changed_templates(manifest, change)
    if not changes:
        return None
    patch = _named(manifest)
    for template, transformed in changes:
        _merge(patch, template, transformed)
    return patch


def list_changed_templates(
    manifest: Mapping[str, object], change: SchedulingChange
) -> list[tuple[PodSpecPlace, Transformed]]:
    """List the pod templates of one object that are changed, each with its change.

    Raises ManifestError and ContradictionError like :func:`transform_pod_spec`, MultiarchError for a list of objects.
    """
    changes = []
    for each in find_templates(manifest, 1):
        if isinstance(each, UnknownContainers):
            continue
        if each.where:
            raise MultiarchError("A list of objects can't be patched.", hint="Patch each of its items.")
        transformed = transform_pod_spec(each.spec, change)
        if transformed.changed:
            changes.append((each, transformed))
    return changes


def change_object(manifest: Mapping[str, object], change: SchedulingChange) -> Mapping[str, object]:
    """Return the object with every pod template changed; it is returned as it is if there is nothing to add.

    Raises as :func:`list_changed_templates` does.
    """
    for template, transformed in list_changed_templates(manifest, change):
        manifest = add_values(manifest, (addition.below(template.path) for addition in transformed.additions))
    return manifest


def get_target(manifest: Mapping[str, object]) -> Json:
    """Name an object as kustomize's ``target`` does. Raises MultiarchError for one without a name."""
    group, _, version = str(manifest.get("apiVersion") or "").rpartition("/")
    metadata = _metadata(manifest)
    parts = {"group": group, "version": version, "kind": manifest.get("kind"), **metadata}
    return {key: value for key, value in parts.items() if value}


def build_kustomize_component(patches: Iterable[tuple[Mapping[str, object], str]], *, in_files: bool = False) -> Json:
    """Return a kustomize Component that patches objects, each given with its patch, or (``in_files``) the path of it.

    Raises MultiarchError for an object without a name.
    Source: https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/
    """
    entries: list[Json] = [
        {"path": patch, "target": _only(get_target(manifest))}
        if in_files
        else {"target": _only(get_target(manifest)), "patch": patch}
        for manifest, patch in patches
    ]
    return {"apiVersion": KUSTOMIZE_COMPONENT, "kind": "Component", "patches": entries}


def _only(target: Json) -> Json:
    """Make a target select one object: names are patterns there, and without a namespace those in all are meant."""
    return {**target, "name": str(target["name"]).replace(".", r"\."), "namespace": target.get("namespace", "default")}


def _named(manifest: Mapping[str, object]) -> Json:
    return {
        "apiVersion": manifest.get("apiVersion"),
        "kind": manifest.get("kind"),
        "metadata": _metadata(manifest),
    }


def _metadata(manifest: Mapping[str, object]) -> Json:
    written = manifest.get("metadata")
    metadata = written if isinstance(written, Mapping) else {}
    if not metadata.get("name"):
        raise MultiarchError(
            f"A {manifest.get('kind')} without metadata.name can't be patched.", hint="Change its manifest instead."
        )
    return {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}


def _merge(patch: Json, template: PodSpecPlace, transformed: Transformed) -> None:
    """Enter a template's change into its object's patch."""
    if any(isinstance(key, int) for key in template.path):
        raise MultiarchError(
            f"{template.title}: {template.spec.path}: is in a list, which a merge patch would replace.",
            hint="Use --format json-patch, or change the manifest.",
        )
    into: Any = patch
    for key in template.path:
        into = into.setdefault(str(key), {})
    before = template.spec.mapping()
    for name in dict.fromkeys(str(addition.path[0]) for addition in transformed.additions):
        into[name] = _differing(before.get(name), transformed.spec[name])


def _differing(before: object, after: object) -> object:
    """Return what a merge has to be given: of mappings what differs, because they are merged; a list whole."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    return {key: _differing(before.get(key), value) for key, value in after.items() if value != before.get(key)}


def _pointer(path: KeyPath) -> str:
    """Write a JSON Pointer (RFC 6901)."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in path)
