"""What a written value means to kubectl.

kubectl takes YAML 1.1 as Go's ``sigs.k8s.io/yaml`` has it: ``yes``, ``on`` and ``y`` are truth values, ``0755`` is an
octal number, and a date or ``22:22`` is text.
"""

from __future__ import annotations

import re

from yaml.events import ScalarEvent

from multiarch.yaml_text.events import YamlFault

MERGE = "<<"
"""As a plain key: the mappings behind it are merged into the one it stands in."""
_TAG = "tag:yaml.org,2002:"
COLLECTION_TAGS = frozenset((None, "!", f"{_TAG}seq", f"{_TAG}map"))
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)
_WORDS |= dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")) | dict.fromkeys(
    (".nan", ".NaN", ".NAN"), float("nan")
)
_WHOLE = re.compile(r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|[1-9][0-9_]*|0)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER_STARTS = frozenset("+-.0123456789")
_LIKE_PLAIN = frozenset(f"{_TAG}{name}" for name in ("int", "float", "bool", "null"))
_TEXTS = frozenset((f"{_TAG}str", f"{_TAG}binary", f"{_TAG}timestamp", "!"))


def value_of(event: ScalarEvent) -> object:
    """The value of one that libyaml read: text, a number, a truth value or None.

    Raises YamlFault for a tag that kubectl does not know.
    """
    tag: str | None = event.tag
    written: str = event.value
    if tag is None:
        return plain_value(written) if event.implicit[0] else written
    if tag in _TEXTS:
        return written
    if tag in _LIKE_PLAIN:
        found = plain_value(written)
        return float(found) if isinstance(found, int) and tag == f"{_TAG}float" else found
    raise unknown_tag(event)


def unknown_tag(event: ScalarEvent) -> YamlFault:
    """What to raise for a value, of any kind, with a tag that kubectl does not know."""
    return YamlFault(f"the tag {event.tag} means nothing here", event.start_mark.line + 1)


def plain_value(written: str) -> object:
    """The value of what is written without quotes."""
    if written in _WORDS:
        return _WORDS[written]
    if written[0] not in _NUMBER_STARTS:
        return written
    if _WHOLE.fullmatch(written):
        return _whole(written)
    if _FLOAT.fullmatch(written):
        return float(written)
    return written


def _whole(written: str) -> object:
    digits = written.replace("_", "")
    bare = digits.lstrip("+-").lower()
    # Python wants 0o755 where Go takes 0755 too.
    octal = len(bare) > 1 and bare[0] == "0" and bare[1].isdigit()
    try:
        return int(digits, 8) if octal else int(digits, 0)
    except ValueError:
        # ``0x_`` has no digit, and there are numbers of more digits than Python reads: Go takes both for text.
        return written
