"""Values in a manifest that know their path, so that an error names document, object and path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from multiarch.errors import KeyPath, MultiarchError
from multiarch.frozen import dataclass
from multiarch.manifests.quantities import QuantityError, parse_quantity

Labels = tuple[tuple[str, str], ...]
"""A mapping as sorted pairs: hashable, and the same bytes every time."""


class ManifestError(MultiarchError):
    """A manifest that Kubernetes would reject.

    ``document`` counts from 1; ``kind`` and ``name`` are empty where the document has none; ``path`` is as in
    ``spec.containers[0].resources``, empty for the whole document.
    """

    def __init__(self, fault: str, place: ObjectReference, path: str = "", *, hint: str = "") -> None:
        """``fault`` is a sentence that follows document, object and path."""
        head = ", ".join(part for part in (f"document {place.document}", place.title) if part)
        super().__init__(f"{head}: {path}: {fault}" if path else f"{head}: {fault}", hint=hint)
        self.document = place.document
        self.kind = place.kind
        self.name = place.name
        self.path = path


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """Which object of a stream of documents; ``name`` is ``namespace/name``."""

    document: int
    kind: str = ""
    name: str = ""

    @property
    def title(self) -> str:
        """``Deployment shop/api``."""
        return f"{self.kind} {self.name}".strip()


@dataclass(slots=True)
class Value:
    """One value of a manifest and its path. A missing key and one that holds null are the same.

    Nothing changes it. It is not frozen, because dozens are made of each pod, and a frozen one takes three times as
    long to make.
    """

    raw: object
    reference: ObjectReference
    parent: Value | None = None
    key: str | int = ""

    @property
    def path(self) -> str:
        """``spec.containers[0].name``, or the empty string at the top."""
        if self.parent is None:
            return str(self.key)
        before = self.parent.path
        if isinstance(self.key, int):
            return f"{before}[{self.key}]"
        return f"{before}.{self.key}" if before else self.key

    @property
    def missing(self) -> bool:
        """Whether there is no value."""
        return self.raw is None

    def error(self, fault: str, *, hint: str = "") -> ManifestError:
        """Return an error at this path."""
        return ManifestError(fault, self.reference, self.path, hint=hint)

    def __getitem__(self, key: str) -> Value:
        """The value under ``key``, missing if this is missing. Raises ManifestError if this is not a mapping."""
        raw = self.raw
        if raw is None:
            return Value(None, self.reference, self, key)
        # dict first: requesting the abstract type takes longer than all the rest.
        return Value((raw if isinstance(raw, dict) else self.mapping()).get(key), self.reference, self, key)

    def at(self, path: KeyPath) -> Value:
        """Return the value that keys and indexes lead to. Raises ManifestError like the steps on the way."""
        here = self
        for key in path:
            here = here[key] if isinstance(key, str) else list(here.items())[key]
        return here

    def mapping(self) -> Mapping[str, object]:
        """Return the value as a mapping, empty if missing. Raises ManifestError for anything else."""
        if self.raw is None:
            return {}
        if not isinstance(self.raw, dict | Mapping):
            raise self.error(f"must be a mapping, not {_shown(self.raw)}.")
        return self.raw

    def items(self) -> Iterator[Value]:
        """Yield the elements of a list, none if missing. Raises ManifestError for anything else."""
        if self.raw is None:
            return
        if not isinstance(self.raw, list | tuple):
            raise self.error(f"must be a list, not {_shown(self.raw)}.")
        for index, element in enumerate(self.raw):
            yield Value(element, self.reference, self, index)

    def text(self, default: str = "") -> str:
        """Return the value as text. Raises ManifestError for numbers and booleans, as the API server does."""
        if self.raw is None:
            return default
        if not isinstance(self.raw, str):
            raise self.error(f"must be a string, not {_shown(self.raw)}.", hint=_quotes(self.raw))
        return str(self.raw)

    def required_text(self) -> str:
        """Return the value as text that is not empty."""
        if not (text := self.text()):
            raise self.error("is missing or empty.")
        return text

    def whole(self, default: int, *, least: int, most: int | None = None) -> int:
        """Return the value as an integer of at least ``least`` and at most ``most``."""
        if self.raw is None:
            return default
        if isinstance(self.raw, bool) or not isinstance(self.raw, int):
            raise self.error(f"must be an integer, not {_shown(self.raw)}.")
        if self.raw < least:
            raise self.error(f"must be {least} or more, not {self.raw}.")
        if most is not None and self.raw > most:
            raise self.error(f"must be {most} or less, not {_shown(self.raw)}.")
        return int(self.raw)

    def truth(self) -> bool:
        """Return the value as a boolean, false if missing."""
        if self.raw is None:
            return False
        if not isinstance(self.raw, bool):
            raise self.error(f"must be true or false, not {_shown(self.raw)}.")
        return self.raw

    def texts(self) -> tuple[str, ...]:
        """Return a list of strings, in its order."""
        return tuple(element.text() for element in self.items())

    def pairs(self) -> Labels:
        """Return a mapping of strings, sorted."""
        return tuple(sorted((self._name(key), self[key].text()) for key in self.mapping()))

    def quantities(self) -> dict[str, Fraction]:
        """Return resource names and quantities. Raises ManifestError for invalid and for negative quantities."""
        amounts: dict[str, Fraction] = {}
        for key, written in self.mapping().items():
            there = self[self._name(key)]
            try:
                amount = parse_quantity(written)
            except QuantityError as error:
                raise there.error(error.message, hint=error.hint) from None
            if amount < 0:
                raise there.error(f"must not be negative: {written}.")
            amounts[key] = amount
        return amounts

    def _name(self, key: object) -> str:
        if not isinstance(key, str):
            raise self.error(f"the key {_shown(key)} must be a string.", hint="Put it in quotes.")
        return key


def to_mapping(value: object) -> Mapping[str, Any]:
    """Return a value that is a mapping; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def to_string(value: object) -> str:
    """Return a value that is a string; the empty string for anything else."""
    return value if isinstance(value, str) else ""


def name_yaml_type(raw: object) -> str:
    """Return what a value is in YAML's terms, with its article: ``a string``."""
    match raw:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def _quotes(raw: object) -> str:
    """Return the hint for a value that must be a string. Its notation, as in ``no``, ``0755`` or ``1.30``, is lost."""
    if isinstance(raw, bool):
        words = "true, false, yes, no, on, off, y and n"
        return f"YAML reads {words} as booleans: put it in quotes."
    return "Put it in quotes." if isinstance(raw, int | float) else ""


def _shown(raw: object) -> str:
    """Return the value, cut: an error is one line."""
    text = repr(raw)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 # a line's worth
