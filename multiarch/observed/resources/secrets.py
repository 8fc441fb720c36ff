"""Secrets in what the engine, providers and consoles print, and keys of properties whose values are secrets.

User data that runs with ``set -x`` writes its commands to the console. Reports are kept by CI jobs. The node's script
``verify/on_node/shell/node.sh`` masks the same in boot logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from multiarch.observed.resources.paths import SECRET

_VALUE = r"""("[^"]*"|'[^']*'|[^\s&"']+)"""
_KEYS = (
    r"(token|secret|passwd|password|passphrase|pwd|authorization|\"auth|credential|signature|-data|cluster-ca"
    r"|(api|app|access|license|private).?key|activation.?code|certificateAuthority)"
)
_OPTIONS = r"(token|secret|passw|passphrase|cluster-ca|(api|app|license)-key|activation-code)"
_RULES = (
    (r"-----BEGIN.*?(-----END[^\n]*|\Z)", "", re.DOTALL),
    (r"\b(bearer|basic) +[^\s&\"']+", r"\1 ", re.IGNORECASE),
    (r"eyJ[\w.-]{10,}|k8s-aws-v1\.[\w-]*|(AKIA|ASIA)[A-Z0-9]{16}", "", 0),
    (r"://[^/@\s]*:[^/@\s]*@", "://", 0),
    (r"(hooks\.slack\.com/services/)[\w/]+", r"\1", 0),
    (r"(gh[pousr]_|github_pat_|glpat-|glcbt-|xox[a-z]-|hvs\.|pul-)[\w-]{8,}", r"\1", 0),
    (r"((?<!\S)(-u|--user) +)[^\s:]+:\S+", r"\1", 0),
    (r"((?<!\S)-p +)[^\s/-]\S*", r"\1", 0),
    (r"((?<![\w-])--?[a-z0-9-]{0,40}" + _OPTIONS + r"[a-z0-9-]{0,40} +)\S+", r"\1", re.IGNORECASE),
    (r"(" + _KEYS + r"[\w-]{0,40}(?:[\"'] *:|[\"']? *=) *)" + _VALUE, r"\1", re.IGNORECASE),
    (r"((passwd|password|passphrase|pwd|authorization)[\w-]{0,40}: +)" + _VALUE, r"\1", re.IGNORECASE),
)
_CONSOLE_RULES = (
    (r"(" + _KEYS + r"[\w-]{0,40} *: *)" + _VALUE, r"\1", re.IGNORECASE),
    (r"^[^\S\n]*[A-Za-z0-9+/=]{16,}[^\S\n]*$", "", re.MULTILINE),
    (r"[A-Za-z0-9+/]{40,}={0,2}", "", 0),
)
_COMPILED = [(re.compile(pattern, flags), kept) for pattern, kept, flags in _RULES]
_CONSOLE = [(re.compile(pattern, flags), kept) for pattern, kept, flags in _CONSOLE_RULES]
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
"""A secret in a string, behind its name: ``password: …``, ``--token=…``, ``--password …``."""


def mask_secrets(text: str, mark: str = SECRET, *, console: bool = False) -> str:
    """Return the text with ``mark`` in place of certificates, keys, tokens and passwords.

    ``console``: of long base64 too, and of any value behind a name such as ``token:``, which sentences have as well.
    """
    for pattern, kept in [*_COMPILED, *(_CONSOLE if console else ())]:
        text = pattern.sub(f"{kept}{mark}", text)
    return text


def is_secret(keys: Iterable[str | int]) -> bool:
    """Return whether a value may be a secret by the keys above it."""
    names = [key for key in keys if isinstance(key, str)]
    plain = not _PLAIN_VALUES.isdisjoint(names)
    return any(_SECRET_KEY.search(name) or (_FREE_KEY.fullmatch(name) and not plain) for name in names)


def may_quote_secret(text: str) -> bool:
    """Return whether a string, or JSON, has a secret in it by the names in it."""
    if text.lstrip().startswith(("{", "[")):
        return bool(_SECRET_KEY.search(text) or _FREE_JSON.search(text))
    return _NAMED_SECRET.search(text) is not None
