"""Names and images that would steer a terminal, forge lines or reorder text, through the commands that show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import type_of_run

EVIL = "a\x1b]0;t\x07\x9b31m\x7f\u202eb\u2028c\nok d\te\r<b>[x](y)"
COMMANDS = {
    "audit images": "markdown",
    "audit workloads": "table",
    "audit daemonsets": "json",
    "simulate payments-prod --manifests": "table",
    "capacity payments-prod --check-images --manifests": "table",
}
"""Each with one format: tests/cli/test_formats.py has each format with such a report."""


def manifests() -> list[dict[str, Any]]:
    metadata = {"name": EVIL, "namespace": EVIL, "labels": {"team": EVIL}}
    spec = {
        "containers": [{"name": EVIL, "image": EVIL}],
        "volumes": [{"name": EVIL, "image": {"reference": EVIL}}],
        "nodeSelector": {EVIL: EVIL},
    }
    template = {"metadata": {"labels": {"team": EVIL}}, "spec": spec}
    group = {"kubernetes.io/arch": "arm64", "eks.amazonaws.com/nodegroup": EVIL, EVIL: EVIL}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": {"template": template}},
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata,
            "spec": {"minAvailable": 2, "selector": {}},
        },
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": EVIL, "labels": group}, "spec": {}},
        {
            "apiVersion": "example.com/v1",
            "kind": EVIL,
            "metadata": metadata,
            "spec": {EVIL: {"image": EVIL, "xImage": "a"}},
        },
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("command", "output"), COMMANDS.items())
@pytest.mark.usefixtures("clone")
def test_what_others_wrote_is_shown_and_steers_nothing(
    run: type_of_run, tmp_path: Path, command: str, output: str
) -> None:
    file = tmp_path / "evil.json"
    file.write_text("\n".join(json.dumps(each) for each in manifests()))
    more = () if command.startswith("simulate") else ("--timeout", "2")
    ran = run(*command.split(), str(file), "-o", output, *more)
    assert ran.out
    for text in (ran.out, ran.err):
        assert text.replace("\n", "").isprintable()
        assert not [line for line in text.splitlines() if line.strip(" |-").startswith("ok d")]
    if output == "markdown":
        assert "<b>" not in ran.out.replace("\\<b", "")


@pytest.mark.usefixtures("clone")
def test_the_messages_about_them_are_one_line_each(run: type_of_run, tmp_path: Path) -> None:
    (made, *_) = manifests()
    made["spec"]["template"]["spec"]["tolerations"] = [{"operator": EVIL}]
    (tmp_path / "evil.json").write_text(json.dumps(made))
    ran = run("workload", "patch", str(tmp_path / "evil.json"), "--tolerate", "arm64")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (2, "", 2)
    assert ran.err.replace("\n", "").isprintable()
