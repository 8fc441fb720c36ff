"""CI's updates with the real engine: what the preview showed is done, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sandbox import environment, project, state
from tests.e2e import aws as held
from tests.e2e.world import TIMEOUT, World
from tests.quotations import ROOT

pytestmark = pytest.mark.e2e

STACK = "checkout-dev"
SIZE = ("nodeGroups", "graviton", "maxSize")


def update(world: World, reports: Path, step: str) -> tuple[int, str]:
    """Run a step of ``update.sh`` as a job does; returns its exit code and what it printed."""
    known = state.load(world.layout)
    assert known.engine is not None
    project.sync(world.layout)
    spoken = environment.build(world.layout, known.engine, world.server.url, STACK, os.environ)
    own = {"REPORTS": str(reports), "CREDENTIALS_DIR": str(reports / "credentials")}
    done = subprocess.run(
        [ROOT / "ci" / "scripts" / "update.sh", step, STACK], cwd=world.layout.project,
        env=spoken.applied_to(os.environ) | own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_an_update_does_what_its_preview_showed_and_refuses_more(platform: World, tmp_path: Path) -> None:
    platform.edit(STACK, *SIZE, value=7)
    code, shown = update(platform, tmp_path, "plan")
    assert (code, "=> 7" in shown) == (0, True), shown
    platform.edit(STACK, *SIZE, value=8)
    code, said = update(platform, tmp_path, "up")
    assert (code, "violates plan" in said) == (1, True), said
    platform.edit(STACK, *SIZE, value=7)
    aws, cluster = platform.aws(STACK), platform.plan(STACK).cluster.name
    nodes = held.managed_group(aws, cluster, "graviton")["scalingConfig"]["desiredSize"]
    held.set_nodes(aws, cluster, "graviton", nodes + 1)
    code, said = update(platform, tmp_path, "up")
    assert code == 0, said
    sizes = held.managed_group(aws, cluster, "graviton")["scalingConfig"]
    assert (sizes["maxSize"], sizes["desiredSize"]) == (7, nodes + 1)
    held.set_nodes(aws, cluster, "graviton", nodes)
    assert platform.preview(STACK) == []
    assert not (tmp_path / "credentials").exists()
