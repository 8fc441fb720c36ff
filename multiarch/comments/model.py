"""What can be posted, and where: values and the interface that GitLab and GitHub share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Service(StrEnum):
    """Where a repository is hosted."""

    GITLAB = "gitlab"
    GITHUB = "github"

    @property
    def label(self) -> str:
        """As it is written."""
        return {Service.GITLAB: "GitLab", Service.GITHUB: "GitHub"}[self]

    @property
    def limit(self) -> int:
        """The most characters of a comment or of an issue's text.

        Sources: GitLab's application limits, "Size of comments and descriptions of issues, merge requests, and epics";
        GitHub answers 422 "body is too long (maximum is 65536 characters)".
        """
        return {Service.GITLAB: 1_000_000, Service.GITHUB: 65_536}[self]


class Action(StrEnum):
    """What became of a comment or an issue."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    CLOSED = "closed"
    NONE = "none"
    """There was nothing to close, or to update."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A comment or an issue. ``id`` grows: the oldest has the smallest. ``title`` is an issue's."""

    id: int
    body: str
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Posted:
    """The outcome. ``url`` is for people, empty for ``none``."""

    action: Action
    url: str


class Place(Protocol):
    """The comments of one merge request, or the open issues of one project."""

    @property
    def service(self) -> Service:
        """Where it is."""
        ...

    def own(self) -> Iterator[Entry]:
        """What the token's user wrote. Raises CommentError."""
        ...

    def create(self, body: str) -> Entry:
        """A new entry. Raises CommentError; UnsureError if it may have been created."""
        ...

    def update(self, entry: Entry, body: str) -> Entry:
        """Another text in place of the entry's. Raises CommentError; GoneError if it was deleted."""
        ...

    def remove(self, entry: Entry) -> None:
        """Delete a comment, or close an issue; nothing happens if it is gone. Raises CommentError."""
        ...
