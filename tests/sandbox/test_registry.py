"""The registry of the demo: what a client of the project reads there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.layout import CLONE

pytestmark = pytest.mark.e2e


def test_it_starts_once_leads_the_commands_to_it_and_goes_with_down(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\n")
    sandbox = [sys.executable, "-m", "sandbox", "--project", str(tmp_path)]

    def run(*words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    first = run(*sandbox, "registry")
    try:
        assert run(*sandbox, "registry").stderr == first.stderr
        printed = []
        for line in first.stdout.splitlines():
            program, *words = line.split()
            assert (CLONE / program).is_file() or shutil.which(program), line
            printed.append(words)
        own = str(tmp_path / ".sandbox" / "registry")
        multiarch = str(Path(sys.executable).with_name("multiarch"))
        audit, inspect, verify, cost = (
            [multiarch, *(own if word == ".sandbox/registry" else word for word in words), "--no-cache", "-o", "json"]
            for words in printed
        )
        told = {image["image"].rpartition("/")[2]: image for image in json.loads(run(*audit).stdout)["images"]}
        verdicts = {
            name: next(row["verdict"] for row in image["verdicts"] if row["architecture"] == "arm64")
            for name, image in told.items()
        }
        assert verdicts == {
            "agent:3.1": "supported",
            "api:2.4.0": "supported",
            "ledger:1.19.3": "unsupported",
            "sessions:7.2": "unknown",
        }
        run(*inspect)
        assert "amd64" in run(*verify, expect=1).stdout  # says arm64, and holds an amd64 program
        (costs,) = json.loads(run(*cost).stdout)["stacks"]
        assert "Deployment/ledger" in [each["workload"] for each in costs["savings"]]
    finally:
        run(*sandbox, "down")
    assert not (tmp_path / ".sandbox").exists()
