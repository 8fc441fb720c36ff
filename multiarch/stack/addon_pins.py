"""What pinning queries of the add-ons in ``addons.extra`` beside their versions.

Schemas of configuration values; and for roles the service account and the namespace, of add-ons that this project does
not know. The client is the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multiarch.errors import OutsideError
from multiarch.facts.extra_addons import find_extra
from multiarch.schema.addons import ExtraAddon
from multiarch.stack.addon_schemas import get_schema_file
from multiarch.stack.load import Stack
from multiarch.stack.pin import Client, Kept, Pin, Pins


@dataclass(slots=True)
class AddonAnswers:
    """What to write: values of the stack file, and the text of each schema by its file."""

    pins: list[Pin | Kept] = field(default_factory=list)
    schemas: dict[Path, str] = field(default_factory=dict)


def find_addon_answers(stack: Stack, versions: Pins, folder: Path, eks: Client) -> AddonAnswers:
    """Query EKS for what the stack's add-ons leave open. Schemas that are in ``folder`` stay.

    ``versions`` are about to be written.
    Raises OutsideError where EKS returns no schema; botocore's own errors pass through.
    """
    answers = AddonAnswers()
    new = {pin.key: str(pin.new) for pin in versions.changes}
    for name, settings in sorted(stack.spec.addons.extra.items()):
        version = new.get(f"addons.extra.{name}.version", settings.version)
        if version is None or not settings.enabled:
            continue
        file, wanted = get_schema_file(folder, name, version), list(_list_open(name, settings))
        needs_schema = bool(settings.configuration_values) and not file.is_file()
        if not needs_schema and not wanted:
            continue
        answer = eks.describe_addon_configuration(addonName=name, addonVersion=version)
        if needs_schema:
            answers.schemas[file] = _format(name, answer.get("configurationSchema"))
        for key in wanted:
            answers.pins.append(_find(stack, name, key, answer, eks))
    return answers


def _list_open(name: str, settings: ExtraAddon) -> Iterator[str]:
    row = find_extra(name)
    if settings.policies or settings.statements:
        if not (settings.service_account or row.service_account):
            yield "serviceAccount"
        if not (settings.namespace or row.namespace):
            yield "namespace"


def _find(stack: Stack, name: str, key: str, answer: Mapping[str, Any], eks: Client) -> Pin | Kept:
    path = f"addons.extra.{name}.{key}"
    if key == "serviceAccount":
        found = sorted({str(each["serviceAccount"]) for each in answer.get("podIdentityConfiguration", ())})
    else:
        rows = eks.describe_addon_versions(addonName=name, kubernetesVersion=stack.spec.kubernetes_version)["addons"]
        found = [str(row["defaultNamespace"]) for row in rows if row.get("defaultNamespace")]
    if len(found) == 1:
        return Pin(path, None, found[0])
    return Kept(path, "", f"EKS names {', '.join(found)}: write one" if found else "EKS names none: write it")


def _format(name: str, text: str | None) -> str:
    """Return a schema as it is written: indented, so that a new version's differences can be read."""
    if not text:
        raise OutsideError(
            f"EKS returns no schema of {name}'s configuration values.", hint="Remove configurationValues."
        )
    try:
        return json.dumps(json.loads(text), indent=1, sort_keys=True) + "\n"
    except ValueError as error:
        raise OutsideError(f"EKS returns a schema of {name}'s configuration values that is not JSON.") from error
