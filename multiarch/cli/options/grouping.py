"""The option that groups results by a label of workloads."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from multiarch.errors import MultiarchError

_PART = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
_LABEL = re.compile(rf"({_PART}/)?{_PART}")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set"""


def _group_by(label: str | None) -> str | None:
    if label is not None and not _LABEL.fullmatch(label):
        raise MultiarchError(
            f"--group-by {label!r} is not a label's key.", hint="Write one such as team or app.kubernetes.io/part-of."
        )
    return label


GroupByOption = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="LABEL",
        callback=_group_by,
        help="Group by this label of the workloads or their pods, such as team.",
    ),
]
