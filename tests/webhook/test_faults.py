"""A short run of the real server with registries that misbehave; ``benchmarks/webhook_faults.py`` is the long one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.webhook.fault_run import fault_run

pytestmark = pytest.mark.registry

_SEED = 12
_MB = 1_000_000


def test_registries_that_misbehave_leave_no_review_unanswered_late_or_wrong(tmp_path: Path) -> None:
    figures = asyncio.run(fault_run(tmp_path, 16.0, _SEED))
    text = "\n".join(figures.lines())
    assert (figures.unanswered, figures.wrong, figures.late) == ([], [], []), text
    assert figures.duplicates == [], text
    assert figures.under_way == (0.0, 0.0), text
    assert figures.files[1] <= figures.files[0] + 2, text
    assert figures.growth < _MB, text
    # The run did what it is for.
    assert min(figures.reviews, figures.registry_requests, figures.refused, figures.rotations) > 0, text
    assert figures.patched > 0, text
    assert len(figures.struck) > 10, text
