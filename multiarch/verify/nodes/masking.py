"""Secrets taken out of console output, as the node's script (``on_node/shell/node.sh``) takes them out of boot logs.

User data that runs with ``set -x`` writes its commands there, and reports are kept by CI jobs.
"""

from __future__ import annotations

import re

_MASK = "[masked]"
_VALUE = r"""("[^"]*"|'[^']*'|[^\s&]+)"""
_KEYS = (
    r"(token|secret|passwd|password|passphrase|pwd|authorization|\"auth|credential|signature|-data|cluster-ca"
    r"|(api|app|access|license|private).?key|activation.?code|certificateAuthority)"
)
_OPTIONS = r"(token|secret|passw|passphrase|cluster-ca|(api|app|license)-key|activation-code)"
_RULES = (
    (r"-----BEGIN.*?(-----END[^\n]*|\Z)", "", re.DOTALL),
    (r"^\s*[A-Za-z0-9+/=]{16,}\s*$", "", re.MULTILINE),
    (r"\b(bearer|basic) +\S+", r"\1 ", re.IGNORECASE),
    (r"eyJ[\w.-]{10,}|k8s-aws-v1\.[\w-]*|(AKIA|ASIA)[A-Z0-9]{16}", "", 0),
    (r"://[^/@\s]*:[^/@\s]*@", "://", 0),
    (r"(hooks\.slack\.com/services/)\S+", r"\1", 0),
    (r"(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|hvs\.)[\w-]+", r"\1", 0),
    (r"((?<!\S)(-u|--user) +)[^\s:]+:\S+", r"\1", 0),
    (r"((?<!\S)-p +)[^\s/-]\S*", r"\1", 0),
    (r"((?<![\w-])--?[a-z0-9-]{0,40}" + _OPTIONS + r"[a-z0-9-]{0,40} +)\S+", r"\1", re.IGNORECASE),
    (r"(" + _KEYS + r"[\w-]{0,40}[\"']? *[=:] *)" + _VALUE, r"\1", re.IGNORECASE),
    (r"[A-Za-z0-9+/]{40,}={0,2}", "", 0),
)
_COMPILED = tuple((re.compile(pattern, flags), f"{kept}{_MASK}") for pattern, kept, flags in _RULES)


def masked(text: str) -> str:
    """The text with ``[masked]`` in place of certificates, keys, tokens and passwords."""
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text
