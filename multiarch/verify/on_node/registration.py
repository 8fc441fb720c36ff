"""How a kubelet registers its node: by its flags and configuration files, or by Bottlerocket's settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from multiarch.observed.resources.user_data import parse_taint_list, read_bottlerocket_taints
from multiarch.yaml_text import reader
from multiarch.yaml_text.events import YamlError

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class NodeRegistration:
    """What a kubelet registers its node with. ``taints`` and ``labels`` are None if unknown; ``faults`` say why."""

    labels: Mapping[str, str] | None
    taints: tuple[Taint, ...] | None
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The lines of a kubelet's configuration file that matter here, empty if it does not have them.

    ``taints`` is the list ``registerWithTaints`` as JSON, or the whole YAML key; ``registers`` is ``registerNode``.
    """

    path: str
    taints: str = ""
    registers: str = ""


def read_kubelet_registration(
    flags: Sequence[str], files: Sequence[ConfigFile], *, complete: bool = True
) -> NodeRegistration:
    """Join flags (``--name=value``) and files (the configuration, then its drop-ins) as the kubelet does.

    A list in a later file replaces that of an earlier one, a flag replaces both; labels of several flags add up.
    ``complete`` is False if a file could not be read: then taints that no flag sets are unknown.
    Source: https://github.com/kubernetes/kubernetes/blob/master/cmd/kubelet/app/server.go
    """
    given: dict[str, list[str]] = {}
    for flag in flags:
        name, _, value = flag.partition("=")
        given.setdefault(name.replace("_", "-"), []).append(value)
    faults: list[str] = []
    taints: tuple[Taint, ...] | None = () if complete else None
    for file in files:
        if file.taints:
            taints = _of_file(file, faults)
    if by_flag := given.get("--register-with-taints"):
        taints = _taints(parse_taint_list(by_flag[-1]), faults)
    registers = [file.registers for file in files] + given.get("--register-node", [])
    if next((each for each in reversed(registers) if each), "true").lower() in ("false", "f", "0"):
        faults.append("the kubelet is configured not to register its node (registerNode: false)")
    return NodeRegistration(_labels(given.get("--node-labels", [])), taints, tuple(faults))


def read_bottlerocket_registration(text: str) -> tuple[NodeRegistration, str]:
    """Read what ``apiclient get os settings.kubernetes.…`` printed; the string is the system's name and version.

    Source: Bottlerocket's settings reference, ``settings.kubernetes.node-labels`` and ``node-taints``.
    """
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return _unknown(f"Bottlerocket's API did not answer with JSON: {text[:_SHOWN]}"), ""
    system = _at(answer, "os")
    name = str(_at(system, "pretty_name") or "")
    settings = _at(_at(answer, "settings"), "kubernetes")
    labels, taints = _at(settings, "node-labels") or {}, _at(settings, "node-taints") or {}
    if not (isinstance(system, dict) and isinstance(labels, dict) and isinstance(taints, dict)):
        return _unknown(f"Bottlerocket's API answered in an unknown form: {text[:_SHOWN]}"), name
    faults: list[str] = []
    found = _taints(read_bottlerocket_taints(taints), faults)
    return NodeRegistration({str(key): str(value) for key, value in labels.items()}, found, tuple(faults)), name


def _unknown(fault: str) -> NodeRegistration:
    return NodeRegistration(None, None, (fault,))


def _at(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _labels(values: Iterable[str]) -> dict[str, str]:
    pairs = (each.partition("=") for value in values for each in value.split(",") if each)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _taints(found: Iterable[Taint], faults: list[str]) -> tuple[Taint, ...] | None:
    """Return the taints that are read; None, and a fault, if one is invalid."""
    try:
        return tuple(found)
    except TaintSyntaxError as error:
        faults.append(f"can't read the kubelet's taints: {error.message}")
        return None


def _of_file(file: ConfigFile, faults: list[str]) -> tuple[Taint, ...] | None:
    try:
        written = f"registerWithTaints: {file.taints}" if file.taints.startswith("[") else file.taints
        document = reader.read_document(written.replace("\\n", "\n"))
        listed: Any = _at(document.value if document else None, "registerWithTaints")
        rows = [dict(row) for row in listed or []]
    except (ValueError, TypeError, RecursionError, YamlError):
        faults.append(f"can't read registerWithTaints in {file.path}")
        return None
    texts = (f"{row.get('key')}={row.get('value') or ''}:{row.get('effect')}" for row in rows)
    return _taints(map(parse_taint, texts), faults)
