"""The next commands for a cluster without a stack."""

from __future__ import annotations

from multiarch.existing.proposal import Proposal
from multiarch.report.model import PageCell, PageSection, PageTable

IDENTIFIER, TITLE = "next", "Next steps"


def build_next_steps_section(proposal: Proposal) -> PageSection:
    """Return three commands: write a stack, pin it, preview it. None of them changes the cluster."""
    cluster = proposal.cluster
    team, _, env = cluster.name.rpartition("-")
    names = "" if team else " --team TEAM --env ENV"
    stack = cluster.name if team and env else "TEAM-ENV"
    rows = (
        ("Write a stack file with the arm64 groups", f"multiarch stack new --from-cluster {cluster.name}{names}"),
        ("Pin images and check the file", f"multiarch stack pin {stack} && multiarch stack check {stack}"),
        ("See what would be created", f"pulumi preview --stack {stack}"),
    )
    cells = [(PageCell(what), PageCell(f"`{command}`")) for what, command in _with_region(rows, cluster.region)]
    return PageSection(
        IDENTIFIER,
        TITLE,
        summary="None of these commands changes the cluster.",
        tables=(PageTable("Commands", ("what", "command"), cells),),
    )


def _with_region(rows: tuple[tuple[str, str], ...], region: str) -> list[tuple[str, str]]:
    first, *others = rows
    return [(first[0], f"{first[1]} --region {region}"), *others]
