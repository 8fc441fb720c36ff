"""Sets of strings that are written with wildcards, and whether several of them have a string in common.

A set is a union of globs, or everything but such a union. Questions about sets become one: is there a string that is
in these sets and not in those? It is answered by running all globs at once over the strings that tell them apart.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import takewhile

from multiarch.review.permissions.effort import Effort

_CHARACTERS = re.compile(".", re.DOTALL)
_WITH_VARIABLES = re.compile(r"\$\{[^}]*\}|.", re.DOTALL)
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


class Glob:
    """A pattern. ``prefix`` is what every string of it begins with, in lower case; ``whole``: it has nothing more.

    ``any_case``: its letters may be of either case, all of them; ``one_case``: none of them may.
    """

    __slots__ = ("_hash", "any_case", "one_case", "prefix", "tokens", "whole")

    def __init__(self, tokens: Iterable[Token]) -> None:
        """Work out what is asked of a pattern again and again."""
        self.tokens = tuple(tokens)
        characters = list(takewhile(lambda token: isinstance(token, str), self.tokens))
        self.prefix = "".join(str(each)[0].lower() for each in characters)
        self.whole = len(characters) == len(self.tokens)
        texts = [each for each in self.tokens if isinstance(each, str)]
        self.any_case = all(len(each) > 1 for each in texts if each.isalpha())
        self.one_case = all(len(each) == 1 for each in texts)
        self._hash = hash(self.tokens)

    def __eq__(self, other: object) -> bool:
        """Patterns are equal if they are written with the same tokens."""
        return isinstance(other, Glob) and self._hash == other._hash and self.tokens == other.tokens

    def __hash__(self) -> int:
        """Of the tokens."""
        return self._hash

    def may_meet(self, other: Glob) -> bool:
        """False if no string can be of both patterns, as their beginnings show."""
        size = min(len(self.prefix), len(other.prefix))
        return (
            self.prefix[:size] == other.prefix[:size]
            and not (self.whole and len(other.prefix) > size)
            and not (other.whole and len(self.prefix) > size)
        )


@dataclass(frozen=True, slots=True)
class Words:
    """A set of strings: those that one of ``globs`` matches, or with ``inverted`` all others."""

    globs: frozenset[Glob]
    inverted: bool = False

    def __invert__(self) -> Words:
        """All other strings."""
        return replace(self, inverted=not self.inverted)


EVERYTHING = Words(frozenset(), inverted=True)


@lru_cache(maxsize=1024)
def glob(text: str, *, variables: bool = False, ignore_case: bool = False, wild: bool = True) -> Glob:
    """Read ``*`` and ``?``, with ``variables`` also ``${…}`` as IAM does since version 2012-10-17.

    ``${*}``, ``${?}`` and ``${$}`` are the characters themselves. Without ``wild``, ``*`` and ``?`` are characters.
    """
    tokens: list[Token] = []
    for found in (_WITH_VARIABLES if variables else _CHARACTERS).finditer(text):
        part = found[0]
        if len(part) > 1:
            name = part[2:-1]
            tokens.append(name if name in _ESCAPED else Variable(name.strip()))
        elif wild and part in "*?":
            tokens.append(Wild(part))
        else:
            tokens.append(_either_case(part) if ignore_case else part)
    return Glob(_canonical(tokens))


def within_parts(written: Glob, parts: int) -> Glob | None:
    """The glob of an ARN condition, whose wildcards match within one of its ``parts``; None for another form.

    The last part may have colons itself. A variable is understood in the last part only.
    Source: IAM user guide, "ARN condition operators".
    """
    narrow = {Wild.ONE: Wild.ONE_IN_PART, Wild.MANY: Wild.MANY_IN_PART}
    colons = 0
    kept: list[Token] = []
    for each in written.tokens:
        if isinstance(each, Variable) and colons < parts - 1:
            return None
        colons += each == ":"
        kept.append(narrow.get(each, each) if isinstance(each, Wild) and colons < parts - 1 else each)
    return Glob(kept) if colons >= parts - 1 else None


def _either_case(character: str) -> str:
    return "".join(sorted({character, character.lower(), character.upper()})) if character.isascii() else character


def _canonical(tokens: Iterable[Token]) -> list[Token]:
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
    return kept + [Wild.MANY] * many


def common(sets: Sequence[Words], effort: Effort) -> bool:
    """Whether a string is in all of these sets, for some values of the variables; True where that is not certain.

    Never False wrongly. Raises TooMuchEffortError.
    """
    wanted = [each for each in sets if not each.inverted]
    unwanted = [each.globs for each in sets if each.inverted and each.globs]
    if not unwanted and len(wanted) < 2:  # noqa: PLR2004  (nothing to compare with)
        return all(each.globs for each in wanted)
    inside, excluded = _that_meet([each.globs for each in wanted], frozenset[Glob]().union(*unwanted), effort)
    if not all(inside):
        return False
    if len(inside) == 1 and not excluded:
        return True
    if len(inside) > 1 and any(map(_has_variable, excluded.union(*inside))):
        # One string can no longer show for all values of a variable at once: it may be any string where it is asked
        # for, and excludes only what is the same glob.
        inside = [frozenset(map(_anything, globs)) for globs in inside]
        excluded = frozenset(each for each in excluded if not _has_variable(each))
    for index, texts in enumerate(inside):
        others = [globs for other, globs in enumerate(inside) if other != index]
        if _are_texts(texts, excluded.union(*others)):
            automata = [_automaton(globs) for globs in others]
            outside = _automaton(excluded)
            return any(
                not outside.accepts(text, effort) and all(each.accepts(text, effort) for each in automata)
                for text in texts
            )
    if inside:
        *inside, excluded = _from_first_difference([*inside, excluded])
    return _search([_automaton(globs) for globs in inside], _automaton(excluded), effort)


def _are_texts(globs: frozenset[Glob], others: frozenset[Glob]) -> bool:
    """Whether globs have no wildcards, and their letters are of one case, or case does not matter to the others."""
    return all(each.whole for each in globs) and (
        all(each.one_case for each in globs) or all(each.any_case for each in others)
    )


def _from_first_difference(sets: Sequence[frozenset[Glob]]) -> list[frozenset[Glob]]:
    """The globs without the characters that all of them begin with."""
    every = [each.tokens for globs in sets for each in globs]
    same = 0
    for tokens in zip(*every, strict=False):
        if not isinstance(tokens[0], str) or any(token != tokens[0] for token in tokens):
            break
        same += 1
    return [frozenset(Glob(each.tokens[same:]) for each in globs) for globs in sets] if same else list(sets)


def _that_meet(
    wanted: list[frozenset[Glob]], excluded: frozenset[Glob], effort: Effort
) -> tuple[list[frozenset[Glob]], frozenset[Glob]]:
    """The globs without those that can make no difference."""
    if not wanted:
        return [], excluded
    first, *others = wanted
    for other in others:
        first = _meeting(first, other, effort)
    inside = [first - excluded, *(_meeting(other, first, effort) - excluded for other in others)]
    return inside, _meeting(excluded, inside[0], effort)


def _meeting(globs: frozenset[Glob], others: frozenset[Glob], effort: Effort) -> frozenset[Glob]:
    effort.spend(len(globs) * len(others) // 4)
    return frozenset(each for each in globs if any(map(each.may_meet, others)))


def _has_variable(each: Glob) -> bool:
    return any(isinstance(token, Variable) for token in each.tokens)


def _anything(each: Glob) -> Glob:
    return Glob(Wild.MANY if isinstance(token, Variable) else token for token in each.tokens)


Character = str | Variable | None
"""What a step of a search reads: a character, a variable's whole value, or None for any character no glob names."""


class _Automaton:
    """Globs, all run at once: a state is the set of places that are reached in them, as the bits of a number."""

    def __init__(self, globs: Iterable[Glob]) -> None:
        self.start = self.accepting = self._repeated = 0
        self._any = self._any_in_part = 0
        self._named: dict[Character, int] = {}
        place = 0
        for each in sorted(globs, key=lambda glob: repr(glob.tokens)):
            self.start |= 1 << place
            for token in each.tokens:
                self._add(token, 1 << place)
                place += 1
            self.accepting |= 1 << place
            place += 1
        self.start = self._closed(self.start)
        self.places = place
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

    def accepts(self, text: Glob, effort: Effort) -> bool:
        """Whether a text is matched; of characters in either case, the first one is taken."""
        effort.spend(len(text.tokens) * self.cost)
        state = self.start
        for token in text.tokens:
            if not state:
                return False
            state = self.after(state, token[0] if isinstance(token, str) else None)
        return bool(state & self.accepting)

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


@lru_cache(maxsize=256)
def _automaton(globs: frozenset[Glob]) -> _Automaton:
    return _Automaton(globs)


def _search(inside: Sequence[_Automaton], outside: _Automaton, effort: Effort) -> bool:
    """Whether a string is accepted by each of ``inside`` and not by ``outside``."""
    everyone = (*inside, outside)
    effort.spend(sum(each.places for each in everyone))
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
