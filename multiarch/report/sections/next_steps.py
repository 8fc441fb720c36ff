"""The next commands for a cluster without a stack."""

from __future__ import annotations

from multiarch.existing.proposal import Proposal
from multiarch.report.model import PageCell, PageSection, PageTable

IDENTIFIER, TITLE = "next", "Next steps"


def build_next_steps_section(proposal: Proposal) -> PageSection:
    """Return three commands: write a stack, pin it, preview it. None of them changes the cluster."""
    cluster = proposal.cluster
    named = cluster.name.count("-") > 0
    stack, names = (cluster.name, "") if named else ("TEAM-ENV", " --team TEAM --env ENV")
    new = f"multiarch stack new --from-cluster {cluster.name}{names} --region {cluster.region}"
    rows = (
        ("Write a stack file with the arm64 groups", new),
        ("Pin images and check the file", f"multiarch stack pin {stack} && multiarch stack check {stack}"),
        ("See what would be created", f"pulumi preview --stack {stack}"),
    )
    cells = [(PageCell(what), PageCell(f"`{command}`")) for what, command in rows]
    summary = "None of these commands changes the cluster."
    return PageSection(IDENTIFIER, TITLE, summary, tables=(PageTable("Commands", ("what", "command"), cells),))
