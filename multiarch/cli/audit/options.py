"""Arguments and options that the audits share."""

from __future__ import annotations

from typing import Annotated

import typer

from multiarch.errors import MultiarchError


def _group_by(label: str | None) -> str | None:
    if label is not None and not label.strip():
        raise MultiarchError("--group-by needs a label, such as team.")
    return label


ManifestsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="FILE|FOLDER|-", help="Manifests, YAML or JSON; - is stdin.")
]
GroupByOption = Annotated[
    str | None,
    typer.Option(
        "--group-by",
        metavar="LABEL",
        callback=_group_by,
        help="Group by this label of the workloads or their pods, such as team.",
    ),
]
ExplainOption = Annotated[
    bool, typer.Option("--explain", help="Print details and the next step of each row to stderr.")
]
