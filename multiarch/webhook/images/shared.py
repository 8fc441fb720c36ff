"""What several replicas share."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Shared:
    """Not used yet."""

    async def __aenter__(self) -> Self:
        """Open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
