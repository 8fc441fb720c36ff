"""Label selectors in kubectl's notation: ``app=api,tier!=web,disk in (ssd, nvme),!spot``.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re

from multiarch.errors import MultiarchError
from multiarch.manifests.selectors import Expression, LabelSelector, Operator

_KEY = r"(?P<key>(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_FORMS = (
    (re.compile(rf"{_KEY}\s*(?:==|=)\s*(?P<values>{_VALUE})"), Operator.IN),
    (re.compile(rf"{_KEY}\s*!=\s*(?P<values>{_VALUE})"), Operator.NOT_IN),
    (re.compile(rf"{_KEY}\s+in\s*\((?P<values>[^()]*)\)"), Operator.IN),
    (re.compile(rf"{_KEY}\s+notin\s*\((?P<values>[^()]*)\)"), Operator.NOT_IN),
    (re.compile(rf"!\s*{_KEY}"), Operator.DOES_NOT_EXIST),
    (re.compile(_KEY), Operator.EXISTS),
)
_COMMA = re.compile(r",(?![^()]*\))")


class LabelQueryError(MultiarchError):
    """A label selector that kubectl rejects."""


def parse_label_query(text: str) -> LabelSelector:
    """Read a selector; an empty one selects everything. Raises LabelQueryError, naming the part that is wrong."""
    if not text.strip():
        return LabelSelector()
    return LabelSelector().narrowed(*(_expression(part.strip()) for part in _COMMA.split(text)))


def _expression(part: str) -> Expression:
    for form, operator in _FORMS:
        found = form.fullmatch(part)
        if found is None:
            continue
        if "values" not in form.groupindex:
            return Expression(found["key"], operator)
        values = tuple(sorted({value.strip() for value in found["values"].split(",")}))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Expression(found["key"], operator, values)
    raise LabelQueryError(
        f"{part!r} is not a label selector.", hint="Write it as in app=api, app!=api, 'app in (api, web)', app or !app."
    )
