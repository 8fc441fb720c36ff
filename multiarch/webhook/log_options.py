"""What the log of the webhook shows, and how."""

from __future__ import annotations

from enum import StrEnum


class LogLevel(StrEnum):
    """How important a line is, in ascending order."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How lines are written."""

    JSON = "json"
    TEXT = "text"
