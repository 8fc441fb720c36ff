"""The taints and labels that user data lets nodes register with, in the forms of the AMI families.

Sources: EKS user guide, "Customize managed nodes with launch templates"; nodeadm, "NodeConfig"; Bottlerocket,
``settings.kubernetes.node-taints``; Kubernetes, KubeletConfiguration, ``registerWithTaints``.
"""

from __future__ import annotations

import base64
import binascii
import re
import tomllib
from collections.abc import Iterator, Mapping
from email import message_from_string
from typing import Any

import yaml

from multiarch.facts.taints import Taint, TaintSyntaxError, parse_taint
from multiarch.observed.resources.nodes import read_taints

_COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
_VARIABLE = re.compile(r"^\s*(?:export\s+|readonly\s+)?(\w+)=(\"[^\"$`]*\"|'[^']*'|[^\s;$`\"']+);?\s*$", re.MULTILINE)
_MIME = ("mime-version:", "content-type:")
_GZIP = b"\x1f\x8b"
_FLAG = re.compile(r"--register-with-taints[=\s]+[\"']?([^\s\"'\\]*)")
_LABELS = re.compile(r"--node-labels[=\s]+[\"']?([^\s\"'\\]*)")
_SETTINGS = re.compile(r"^\s*\[?settings\b", re.MULTILINE)
_SCRIPT_LIST = re.compile(r"registerWithTaints[^\[\n]*(?:\[([^\]]*)\]|\n((?:[ \t]*- .*\n?(?:[ \t]+\w+:.*\n?)*)+))")
_SCRIPT_EFFECT = re.compile(r"\b(NoSchedule|NoExecute|PreferNoSchedule)\b")


class UnreadableUserDataError(Exception):
    """User data whose taints can't be read, such as a flag whose value is a variable of the script."""


def read_user_data_taints(user_data: str) -> tuple[Taint, ...]:
    """Return the taints that user data, base64 or plain, registers. Raises UnreadableUserDataError."""
    text = _decode(user_data)
    try:
        return tuple(sorted(_read_text(text)))
    except (TaintSyntaxError, yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UnreadableUserDataError(str(error)) from error


def read_user_data_labels(user_data: str) -> dict[str, str]:
    """Return the labels that user data, base64 or plain, registers. Raises UnreadableUserDataError."""
    text = _decode(user_data)
    try:
        if not text.lstrip().lower().startswith((*_MIME, "#!")) and _SETTINGS.search(text):
            found = tomllib.loads(text).get("settings", {}).get("kubernetes", {}).get("node-labels", {})
            return {key: str(value) for key, value in found.items()}
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise UnreadableUserDataError(str(error)) from error
    labels = {}
    for each in ",".join(_LABELS.findall(_with_variables(text))).split(","):
        key, equals, value = each.partition("=")
        if "$" in each:
            raise UnreadableUserDataError(f"its labels have a variable: {each}")
        if equals:
            labels[key] = value
    return labels


def _decode(user_data: str) -> str:
    try:
        decoded = base64.b64decode(user_data, validate=True)
    except (binascii.Error, ValueError):
        decoded = user_data.encode()
    if decoded.startswith(_GZIP):
        raise UnreadableUserDataError("it is compressed")
    return decoded.decode("utf-8", "replace")


def _read_text(text: str) -> Iterator[Taint]:
    start = text.lstrip()
    if start.lower().startswith(_MIME):
        for part in message_from_string(start).walk():
            if not part.is_multipart():
                payload = part.get_payload(decode=True)
                yield from _read_text(payload.decode("utf-8", "replace") if isinstance(payload, bytes) else "")
    elif start.startswith("#!"):
        yield from _read_script(text)
    elif re.search(r"^\s*kind:\s*NodeConfig", text, re.MULTILINE):
        for document in yaml.safe_load_all(text):
            yield from _read_node_config(document)
    elif _SETTINGS.search(text):
        taints = tomllib.loads(text).get("settings", {}).get("kubernetes", {}).get("node-taints", {})
        yield from read_bottlerocket_taints(taints)
    else:
        yield from _read_script(text)


def _read_node_config(document: Any) -> Iterator[Taint]:  # noqa: ANN401  (YAML)
    """Yield the taints of a NodeConfig: the last flag replaces the configuration's list."""
    kubelet = ((document or {}).get("spec") or {}).get("kubelet") or {}
    if flags := _FLAG.findall(" ".join(map(str, kubelet.get("flags") or ()))):
        yield from parse_taint_list(flags[-1])
    else:
        rows = (kubelet.get("config") or {}).get("registerWithTaints") or ()
        yield from read_taints(rows)


def _read_script(text: str) -> Iterator[Taint]:
    """Yield the taints of a kubelet flag in a script without its comments, or of a configuration that it writes."""
    code = _with_variables(text)
    if flags := _FLAG.findall(code):
        yield from parse_taint_list(flags[-1])
        return
    for rows in map("".join, _SCRIPT_LIST.findall(code)):
        yield from (parse_taint(f"registered:{effect}") for effect in _SCRIPT_EFFECT.findall(rows))


def _with_variables(text: str) -> str:
    """Return a script without its comments, and with the values of its variables in their place."""
    code = _COMMENT.sub("", text)
    for name, value in _VARIABLE.findall(code):
        code = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", value.strip("\"'").replace("\\", ""), code)
    return code


def parse_taint_list(value: str) -> Iterator[Taint]:
    """Yield the taints of ``--register-with-taints``; ``key-`` would remove one. Raises TaintSyntaxError."""
    yield from (parse_taint(each) for each in value.split(",") if each and not each.endswith("-"))


def read_bottlerocket_taints(settings: Mapping[str, object]) -> Iterator[Taint]:
    """Yield the taints of ``settings.kubernetes.node-taints``: a list for each key, in early releases one string.

    Raises TaintSyntaxError.
    """
    for key, values in settings.items():
        for each in map(str, values if isinstance(values, list) else [values]):
            # Without a value it is ``:NoSchedule``.
            yield parse_taint(f"{key}{each}" if each.startswith(":") else f"{key}={each}")
