"""promtool, which checks rules and evaluates queries as Prometheus does."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools import build

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "observability" / "alerts.yaml"

Series = Mapping[str, str]
"""Samples by series, in the notation of promtool: ``{'up{job="x"}': "0+1x60"}``, one sample per minute."""


def run(*arguments: str | Path, text: str = "") -> str:
    """Run promtool and return what it printed. It must succeed."""
    ran = subprocess.run(
        [build.ensure("promtool"), *arguments], input=text, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def written(name: str, labels: Mapping[str, str]) -> str:
    """A series as promtool reads it."""
    return f"{name}{{{','.join(f'{key}={json.dumps(value)}' for key, value in labels.items())}}}"


def unit_test(folder: Path, tests: Sequence[Mapping[str, Any]]) -> None:
    """Run unit tests on the alert rules. Each has a name, ``series``, and what promtool's own format calls the rest."""
    written = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                **{key: value for key, value in test.items() if key != "series"},
                "input_series": [{"series": name, "values": values} for name, values in test["series"].items()],
            }
            for test in tests
        ],
    }
    file = folder / "unit_test.yaml"
    # JSON is YAML.
    file.write_text(json.dumps(written, indent=1), encoding="utf-8")
    run("test", "rules", file)
