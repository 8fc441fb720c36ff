"""Sets of strings that are written with wildcards, and whether several of them have a string in common.

A set is a union of globs, or everything but such a union. Questions about sets become one: is there a string that is
in these sets and not in those? It is answered by running all globs at once over the strings that tell them apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from multiarch.review.permissions.effort import Effort

_OPENING = "${"
_ESCAPED = frozenset("*?$")


class Wild(Enum):
    """A token that is not a character: one character, or any number of them."""

    ONE = "?"
    MANY = "*"
    ONE_IN_PART = "? within a part of an ARN"
    MANY_IN_PART = "* within a part of an ARN"


_REPEATED = frozenset({Wild.MANY, Wild.MANY_IN_PART})
_WITHIN_PART = frozenset({Wild.ONE_IN_PART, Wild.MANY_IN_PART})


@dataclass(frozen=True, slots=True)
class Variable:
    """A policy variable such as ``${aws:username}``: an unknown string, the same one throughout a request."""

    name: str


Token = str | Wild | Variable
"""A string is one character, any of those in it: ``aA`` where case does not matter."""
Glob = tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """A set of strings: those that one of ``globs`` matches, or with ``inverted`` all others."""

    globs: frozenset[Glob]
    inverted: bool = False

    def __invert__(self) -> Words:
        """All other strings."""
        return replace(self, inverted=not self.inverted)


EVERYTHING = Words(frozenset(), inverted=True)


@lru_cache(maxsize=4096)
def glob(text: str, *, variables: bool = False, ignore_case: bool = False, wild: bool = True) -> Glob:
    """Read ``*`` and ``?``, with ``variables`` also ``${…}`` as IAM does since version 2012-10-17.

    ``${*}``, ``${?}`` and ``${$}`` are the characters themselves. Without ``wild``, ``*`` and ``?`` are characters.
    """
    tokens: list[Token] = []
    rest = text
    while rest:
        if variables and rest.startswith(_OPENING) and "}" in rest:
            name, _, rest = rest[len(_OPENING) :].partition("}")
            tokens.append(name if name in _ESCAPED else Variable(name.strip()))
            continue
        character, rest = rest[0], rest[1:]
        if wild and character in "*?":
            tokens.append(Wild(character))
        else:
            tokens.append(_either_case(character) if ignore_case else character)
    return _canonical(tokens)


def within_parts(tokens: Glob, parts: int) -> Glob | None:
    """The glob of an ARN condition, whose wildcards match within one of its ``parts``; None for another form.

    The last part may have colons itself. A variable is understood in the last part only.
    Source: IAM user guide, "ARN condition operators".
    """
    narrow = {Wild.ONE: Wild.ONE_IN_PART, Wild.MANY: Wild.MANY_IN_PART}
    colons = 0
    kept: list[Token] = []
    for each in tokens:
        if isinstance(each, Variable) and colons < parts - 1:
            return None
        colons += each == ":"
        kept.append(narrow.get(each, each) if isinstance(each, Wild) and colons < parts - 1 else each)
    return tuple(kept) if colons >= parts - 1 else None


def _either_case(character: str) -> str:
    return "".join(sorted({character, character.lower(), character.upper()})) if character.isascii() else character


def _canonical(tokens: Iterable[Token]) -> Glob:
    """``*?*`` as ``?*``: a run of wildcards has its single ones first, and at most one ``*``."""
    kept: list[Token] = []
    many = False
    for token in tokens:
        if token is Wild.MANY:
            many = True
        elif token is Wild.ONE:
            kept.append(token)
        else:
            kept += [Wild.MANY] * many
            many = False
            kept.append(token)
    return (*kept, *[Wild.MANY] * many)


def common(sets: Sequence[Words], effort: Effort) -> bool:
    """Whether a string is in all of these sets, for some values of the variables; True where that is not certain.

    Never False wrongly. Raises TooMuchEffortError.
    """
    wanted = [each for each in sets if not each.inverted]
    unwanted = [each.globs for each in sets if each.inverted and each.globs]
    if not unwanted and len(wanted) < 2:  # noqa: PLR2004  (nothing to compare with)
        return all(each.globs for each in wanted)
    excluded = frozenset[Glob]().union(*unwanted)
    inside = [each.globs - excluded for each in wanted]
    if not all(inside):
        return False
    if len(wanted) > 1 and any(_has_variable(each) for each in (*excluded, *(g for globs in inside for g in globs))):
        # One string can no longer show for all values of a variable at once: it may be any string where it is asked
        # for, and excludes only what is the same glob.
        inside = [frozenset(map(_anything, globs)) for globs in inside]
        excluded = frozenset(each for each in excluded if not _has_variable(each))
    return _search([_Automaton(globs) for globs in inside], _Automaton(excluded), effort)


def _has_variable(tokens: Glob) -> bool:
    return any(isinstance(token, Variable) for token in tokens)


def _anything(tokens: Glob) -> Glob:
    return tuple(Wild.MANY if isinstance(token, Variable) else token for token in tokens)


Character = str | Variable | None
"""What a step of a search reads: a character, a variable's whole value, or None for any character no glob names."""


class _Automaton:
    """Globs, all run at once: a state is the set of places that are reached in them, as the bits of a number."""

    def __init__(self, globs: Iterable[Glob]) -> None:
        self.start = self.accepting = self._repeated = 0
        self._any = self._any_in_part = 0
        self._named: dict[Character, int] = {}
        place = 0
        for tokens in sorted(globs, key=repr):
            self.start |= 1 << place
            for token in tokens:
                self._add(token, 1 << place)
                place += 1
            self.accepting |= 1 << place
            place += 1
        self.start = self._closed(self.start)
        self.cost = 1 + place // 256

    def _add(self, token: Token, bit: int) -> None:
        if isinstance(token, Wild):
            if token in _REPEATED:
                self._repeated |= bit
            if token in _WITHIN_PART:
                self._any_in_part |= bit
            else:
                self._any |= bit
            return
        for character in [token] if isinstance(token, Variable) else token:
            self._named[character] = self._named.get(character, 0) | bit

    def named(self, state: int) -> Iterator[Character]:
        """The characters that the places of a state name."""
        return (character for character, places in self._named.items() if places & state)

    def free(self, state: int) -> bool:
        """Whether a place of the state takes characters that it does not name."""
        return bool(state & (self._any | self._any_in_part))

    def after(self, state: int, character: Character) -> int:
        """The state after one more character."""
        taken = self._any
        if isinstance(character, Variable):
            taken &= self._repeated  # its value may have any length, and colons
        elif character != ":":
            taken |= self._any_in_part
        reached = state & (taken | self._named.get(character, 0))
        return self._closed(((reached & ~self._repeated) << 1) | (reached & self._repeated))

    def _closed(self, state: int) -> int:
        """A ``*`` may also match nothing."""
        while more := ((state & self._repeated) << 1) & ~state:
            state |= more
        return state


def _search(inside: Sequence[_Automaton], outside: _Automaton, effort: Effort) -> bool:
    """Whether a string is accepted by each of ``inside`` and not by ``outside``."""
    everyone = (*inside, outside)
    cost = sum(each.cost for each in everyone)
    first = tuple(each.start for each in everyone)
    seen = {first}
    waiting = deque([first])
    while waiting:
        states = waiting.popleft()
        accepted = all(each.accepting & state for each, state in zip(inside, states, strict=False))
        if accepted and not outside.accepting & states[-1]:
            return True
        alphabet = _alphabet(everyone, states)
        effort.spend(cost * (8 + 4 * len(alphabet)))
        for character in alphabet:
            following = tuple(each.after(state, character) for each, state in zip(everyone, states, strict=True))
            if all(following[:-1]) and following not in seen:
                seen.add(following)
                waiting.append(following)
    return False


def _alphabet(everyone: Sequence[_Automaton], states: Sequence[int]) -> list[Character]:
    """The characters that make a difference after these states."""
    leading, state = everyone[0], states[0]
    if len(everyone) > 1 and not leading.free(state):
        return sorted(leading.named(state), key=repr)
    named: set[Character] = {None, ":"}
    for each, reached in zip(everyone, states, strict=True):
        named.update(each.named(reached))
    return sorted(named, key=repr)
