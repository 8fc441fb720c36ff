"""Which day it is: support dates decide whether a stack is accepted, so whoever plans one asks here."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from multiarch.errors import MultiarchError


def today() -> date:
    """Today's date, or the one that ``SOURCE_DATE_EPOCH`` says (https://reproducible-builds.org/specs/source-date-epoch/).

    Raises MultiarchError when the variable holds no number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now().astimezone().date()
    try:
        return datetime.fromtimestamp(int(epoch), tz=UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        raise MultiarchError(
            f"SOURCE_DATE_EPOCH is {epoch!r}.", hint="It is a number of seconds since 1970-01-01."
        ) from error
