"""Today's date: support dates decide whether a stack is accepted."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from multiarch.errors import MultiarchError


def today() -> date:
    """Today's date, or that of ``SOURCE_DATE_EPOCH`` (https://reproducible-builds.org/specs/source-date-epoch/).

    Raises MultiarchError if the variable is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now().astimezone().date()
    try:
        return datetime.fromtimestamp(int(epoch), tz=UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        raise MultiarchError(
            f"Invalid SOURCE_DATE_EPOCH {epoch!r}.", hint="Set it to seconds since 1970-01-01."
        ) from error
