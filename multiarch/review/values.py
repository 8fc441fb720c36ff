"""Values of properties in a sentence: short ones as they are, never a secret."""

from __future__ import annotations

import json
import re
from typing import Any

from multiarch.review.model import SECRET, UNKNOWN, Step
from multiarch.review.property_paths import MISSING, parts, value_at

_LONGEST = 80
_TOO_LONG = "…"
_SECRET_KEY = re.compile(
    r"password|passwd|passphrase|pass(?![a-z])|secret|token|credential|private.?key|api.?key|access.?key|signing.?key"
    r"|pre.?shared|(?<![a-z])psk|(?<![a-z])pwd?(?![a-z])|connection.?string|(?<![a-z])dsn(?![a-z])"
    r"|user.?data|kubeconfig|certificate|authorization|^data$|^stringData$|^binaryData$",
    re.IGNORECASE,
)
"""Keys whose values are not shown, whether or not the program marked them as secrets."""
_FREE_KEY = re.compile(
    r"(?:extra)?(?:envs?|environment|variables|args|arguments|command|entry.?point)|value", re.IGNORECASE
)
"""Keys below which any value may be a secret: ``env[0].value`` does not say what ``env[0].name`` does."""
_FREE_JSON = re.compile(rf'"(?:{_FREE_KEY.pattern})":', re.IGNORECASE)
_PLAIN_VALUES = frozenset({"taints", "startupTaints", "tolerations", "tag", "tags"})
"""Lists of objects whose ``value`` is not a secret."""
_NAMED_SECRET = re.compile(rf"(?:{_SECRET_KEY.pattern})[\w-]*(?:\s*=|:\s|[\"']\s*:|\s+\S)", re.IGNORECASE)
"""A secret in a text, behind its name: ``password: …``, ``--token=…``, ``--password …``."""
_SECRET_TEXT = re.compile(
    r"-----BEGIN.*?(?:-----END[^\n]*|\Z)|eyJ[\w.-]{10,}|k8s-aws-v1\.[\w-]+|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|(?:gh[pousr]_|github_pat_|glpat-|glcbt-|xox[a-z]-|hvs\.|pul-)[\w-]{8,}"
    r"|(?<=hooks\.slack\.com/services/)[\w/]+"
    r"|(?<=://)[^/@\s]*:[^/@\s]*(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic )|(?<=password=)|(?<=password: )|(?<=token=)|(?<=secret=))[^\s&\"']{6,}",
    re.DOTALL,
)


def shown(value: Any, path: str = "") -> str:  # noqa: ANN401  (any JSON value)
    """The value at ``path`` for a person: ``[secret]``, ``known after the update``, JSON of at most 80 characters.

    Nothing for MISSING; ``…`` for what is longer.
    """
    if value is MISSING:
        return ""
    if _is_secret(parts(path)):
        return SECRET
    if value == UNKNOWN:
        return "known after the update"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if UNKNOWN in text or len(text) > _LONGEST or _may_quote_secret(text):
        return _TOO_LONG
    return masked(text)


def _is_secret(keys: tuple[str | int, ...]) -> bool:
    """Whether a value may be a secret by the keys above it."""
    names = [key for key in keys if isinstance(key, str)]
    plain = not _PLAIN_VALUES.isdisjoint(names)
    return any(_SECRET_KEY.search(name) or (_FREE_KEY.fullmatch(name) and not plain) for name in names)


def _may_quote_secret(text: str) -> bool:
    """Whether a text, or JSON, has a secret in it by the names in it."""
    if text.lstrip().startswith(("{", "[")):
        return bool(_SECRET_KEY.search(text) or _FREE_JSON.search(text))
    return _NAMED_SECRET.search(text) is not None


def difference(step: Step, path: str) -> str:
    """One change of a step's inputs in a line: ``version: 1.35 → 1.36``. Only the path if the values say nothing."""
    old = MISSING if step.old is None else value_at(step.old.inputs, path)
    new = MISSING if step.new is None else value_at(step.new.inputs, path)
    return f"{path}: {change}" if (change := from_to(old, new, path)) else path


def from_to(old: Any, new: Any, path: str) -> str:  # noqa: ANN401  (any JSON values)
    """``1.35 → 1.36``; nothing if the values are too long, secret or both missing."""
    before, after = shown(old, path), shown(new, path)
    if before == after or _TOO_LONG in {before, after}:
        return ""
    if SECRET in {before, after}:
        return ""
    return f"{before or 'not set'} → {after or 'not set'}"


def masked(text: str) -> str:
    """A message of others with ``[secret]`` in place of keys, tokens and passwords that it quotes."""
    return _SECRET_TEXT.sub(SECRET, text)


def resource_name(step: Step) -> str:
    """The name that AWS or Kubernetes knows, with its namespace, or else Pulumi's name of the resource."""
    for state in (step.old, step.new):
        if state is None:
            continue
        metadata = state.inputs.get("metadata")
        if isinstance(metadata, dict) and isinstance(metadata.get("name"), str):
            namespace = metadata.get("namespace")
            return f"{namespace}/{metadata['name']}" if isinstance(namespace, str) else metadata["name"]
        for key in ("name", "bucket", "identifier", "clusterIdentifier", "domainName", "repository"):
            name = state.inputs.get(key)
            if isinstance(name, str) and name not in {SECRET, UNKNOWN} and name:
                return name
    return step.name
