"""The files of a rendering: one for each part that people review, and all resources as JSON."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from multiarch.errors import MultiarchError
from multiarch.observed.resources.declared import DeclaredResource
from multiarch.yaml_text.dump import dump_yaml

from .marked_values import SUFFIX, Json, Properties

MARKER = "resources.json"
"""Every rendering has this file; a folder without it is not a rendering."""
_OWN = re.compile(
    r"kubeconfig|outputs\.json|resources\.json"
    r"|(addons|events|helm|iam|kms|kubernetes|launch-templates|node-groups|queues|sessions|user-data)/.+"
    r"\.(json|mime|sh|toml|yaml)"
)
"""The files of a rendering, by their paths."""
_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_GROUPS = frozenset({"aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/group:Group"})
_ROLE = "aws:iam/role:Role"
_INLINE_POLICY = "aws:iam/rolePolicy:RolePolicy"
_ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
_ADDON = "aws:eks/addon:Addon"
_RELEASE = "kubernetes:helm.sh/v3:Release"
_DOCUMENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        _ROLE: ("iam/{name}/trust-policy.json", "assumeRolePolicy"),
        "aws:cloudwatch/eventRule:EventRule": ("events/{name}.json", "eventPattern"),
        "aws:iam/policy:Policy": ("iam/policies/{name}.json", "policy"),
        "aws:kms/key:Key": ("kms/{name}.json", "policy"),
        "aws:sqs/queuePolicy:QueuePolicy": ("queues/{name}-policy.json", "policy"),
        "aws:ssm/document:Document": ("sessions/{name}.json", "content"),
    }
)
"""Types that are one JSON document: its file, and the property that holds it."""


def contents(resources: Sequence[DeclaredResource], outputs: Mapping[str, Json]) -> dict[str, str]:
    """Return text by path below the stack's folder, with ``/``; every text ends with a newline."""
    files = {
        MARKER: _json([_entry(resource) for resource in resources]),
        "outputs.json": _json({name: value for name, value in outputs.items() if name != "kubeconfig"}),
        "kubeconfig": f"{outputs['kubeconfig']}\n",
    }
    if policy := outputs.get("sessionPolicy"):
        files["sessions/policy-for-people.json"] = _json(json.loads(str(policy)))
    for resource in resources:
        files |= _files_of(resource)
    return files | _role_policies(resources)


def _entry(resource: DeclaredResource) -> dict[str, Json]:
    return {
        "urn": resource.urn,
        "type": resource.type,
        "name": resource.name,
        "parent": resource.parent,
        "dependencies": sorted(resource.dependencies),
        "ignoreChanges": list(resource.ignore_changes),
        "inputs": resource.inputs,
    }


def _files_of(resource: DeclaredResource) -> dict[str, str]:
    """Return the files of one resource."""
    name, inputs = resource.name, resource.inputs
    if resource.type == _TEMPLATE:
        return _template(name, inputs)
    if resource.type in _DOCUMENTS:
        path, key = _DOCUMENTS[resource.type]
        return {path.format(name=name): _json(json.loads(str(inputs[key])))}
    if resource.type in _GROUPS:
        return {f"node-groups/{name}.json": _json(inputs)}
    if resource.type == _ADDON:
        configuration = json.loads(str(inputs.get("configurationValues") or "{}"))
        return {f"addons/{name}.json": _json({**inputs, "configurationValues": configuration})}
    return _in_the_cluster(name, inputs, resource.type) if resource.type.startswith("kubernetes:") else {}


def _in_the_cluster(name: str, inputs: Properties, type_: str) -> dict[str, str]:
    """Return an object as a manifest; for a Helm release its values, as ``helm template --values`` reads them."""
    if type_ == _RELEASE:
        values = dump_yaml(inputs["values"], sort_keys=True)
        return {f"helm/{name}.yaml": f"# {inputs['chart']} {inputs['version']}\n{values}"}
    return {f"kubernetes/{inputs['kind']}-{name}.yaml": dump_yaml(inputs, sort_keys=True)}


def _template(name: str, inputs: Properties) -> dict[str, str]:
    files = {f"launch-templates/{name}.json": _json(inputs)}
    if encoded := inputs.get("userData"):
        text = base64.b64decode(str(encoded)).decode()
        files[f"user-data/{name}.{_suffix(text)}"] = text
    return files


def _suffix(user_data: str) -> str:
    """Detect user data's format by its first line: a shell script, a MIME document, or Bottlerocket's TOML."""
    if user_data.startswith("#!"):
        return "sh"
    return "mime" if user_data.startswith(("MIME-Version:", "Content-Type:")) else "toml"


def _role_policies(resources: Sequence[DeclaredResource]) -> dict[str, str]:
    """Return each inline policy, and a list of the managed policies, by the role's logical name."""
    roles = {f"{role.inputs['namePrefix']}{SUFFIX}": role.name for role in resources if role.type == _ROLE}
    files: dict[str, str] = {}
    managed: dict[str, list[str]] = {}
    for resource in resources:
        if resource.type == _INLINE_POLICY:
            path = f"iam/{roles[str(resource.inputs['role'])]}/{resource.inputs['name']}.json"
            files[path] = _json(json.loads(str(resource.inputs["policy"])))
        elif resource.type == _ATTACHMENT:
            managed.setdefault(roles[str(resource.inputs["role"])], []).append(str(resource.inputs["policyArn"]))
    return files | {f"iam/{role}/managed-policies.json": _json(sorted(arns)) for role, arns in managed.items()}


def _json(value: Json) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def replace(target: Path, files: Mapping[str, str]) -> None:
    """Write the files to ``target``, replacing the whole folder of an earlier rendering at once.

    A run that is interrupted leaves the earlier rendering or none, never half of one. Raises MultiarchError as
    :func:`check` does.
    """
    check(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as scratch:
            fresh = Path(scratch) / "fresh"
            _write(fresh, files)
            if target.exists():
                target.rename(Path(scratch) / "earlier")
            fresh.rename(target)
    except OSError as error:
        raise _not_written(target, error) from error


def check(target: Path) -> None:
    """Raise MultiarchError when ``target`` holds files that are not a rendering, or can't be read."""
    try:
        if target.exists() and any(target.iterdir()):
            _check_replaceable(target)
    except OSError as error:
        raise _not_written(target, error) from error


def _not_written(target: Path, error: OSError) -> MultiarchError:
    return MultiarchError(f"{target} can't be written: {error.strerror or error}.")


def _check_replaceable(target: Path) -> None:
    """Raise MultiarchError unless ``target`` has only files that a rendering writes."""
    hint = "Render into another folder, or empty it."
    if not (target / MARKER).is_file():
        raise MultiarchError(f"{target} holds files but no {MARKER}, so it is not a rendering.", hint=hint)
    if '"urn:pulumi:' not in (target / MARKER).read_text(encoding="utf-8", errors="replace"):
        raise MultiarchError(f"{target / MARKER} is not from a rendering.", hint=hint)
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target).as_posix()
        if path.is_symlink() or not (path.is_dir() or _OWN.fullmatch(name)):
            raise MultiarchError(f"{target} has {name}, which is not from a rendering.", hint=hint)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
