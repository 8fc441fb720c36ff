"""Today's date, which decides whether a Kubernetes version is supported, and the time."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from multiarch.errors import MultiarchError


def get_now() -> datetime:
    """Return the time in UTC, or ``SOURCE_DATE_EPOCH`` (https://reproducible-builds.org/specs/source-date-epoch/).

    Raises MultiarchError if the variable is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(tz=UTC)
    try:
        return datetime.fromtimestamp(int(epoch), tz=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise MultiarchError(
            f"Invalid SOURCE_DATE_EPOCH {epoch!r}.", hint="Set it to seconds since 1970-01-01."
        ) from error


def get_today() -> date:
    """Return today's date here, or that of ``SOURCE_DATE_EPOCH`` in UTC. Raises MultiarchError as :func:`get_now`."""
    time = get_now()
    return time.date() if os.environ.get("SOURCE_DATE_EPOCH") else time.astimezone().date()
