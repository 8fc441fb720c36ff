"""Post so that there is one: found by its marker and author, updated in place, created if it is missing."""

from __future__ import annotations

from collections.abc import Sequence

from multiarch.comments.body import fitted, marked, same
from multiarch.comments.errors import CommentError, GoneError, UnsureError
from multiarch.comments.model import Action, Entry, Place, Posted

_ROUNDS = 4
"""How often to look again after an entry was deleted in between, or may have been created."""


def post(place: Place, text: str, name: str | None, *, title: str = "", create: bool = True) -> Posted:
    """Create the entry whose marker has ``name``, or update it; of several, the oldest stays.

    Without ``name`` the marker is that which ``text`` begins with.
    ``text`` is Markdown, cut if the service does not take as much. ``title`` is that of an issue. Without ``create``
    only an entry that is there is changed. Two jobs that post at the same time leave one entry: each looks again after
    creating, and only the oldest stays. Raises CommentError.
    """
    line, body = marked(text, name)
    body = fitted(body, place.service.limit)
    created: Entry | None = None
    problem: CommentError | None = None
    for _ in range(_ROUNDS):
        found = _found(place, line)
        try:
            if found:
                return _updated(place, found, body, title, created)
            if created is not None:
                # The list may be a moment behind.
                return Posted(Action.CREATED, created.url)
            if not create:
                return Posted(Action.NONE, "")
            created = place.create(body)
        except (GoneError, UnsureError) as error:
            problem = error
            created = None
    raise problem or CommentError(f"{place.service.label} keeps losing what is posted.", hint="Run the job again.")


def close(place: Place, name: str, text: str = "") -> Posted:
    """Close the issues whose marker has ``name``, with ``text`` as their last text if there is one.

    Raises CommentError.
    """
    line, body = marked(text, name)
    found = _found(place, line)
    for entry in found:
        try:
            place.remove(place.update(entry, fitted(body, place.service.limit)) if text.strip() else entry)
        except GoneError:
            continue
    return Posted(Action.CLOSED, found[0].url) if found else Posted(Action.NONE, "")


def _found(place: Place, line: str) -> list[Entry]:
    """The token's own entries that begin with the marker, the oldest first."""
    return sorted((each for each in place.own() if each.body.lstrip().startswith(line)), key=lambda each: each.id)


def _updated(place: Place, found: Sequence[Entry], body: str, title: str, created: Entry | None) -> Posted:
    first, *others = found
    if same(first.body, body) and first.title == title:
        action, kept = Action.UNCHANGED, first
    else:
        action, kept = Action.UPDATED, place.update(first, body)
    for entry in others:
        place.remove(entry)
    return Posted(Action.CREATED if created is not None and created.id == first.id else action, kept.url)
