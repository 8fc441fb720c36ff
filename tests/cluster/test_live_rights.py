"""``cost``, ``capacity`` and ``report`` with ``--live`` on a real API server, with the rights that their pages name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.kube import Kube
from sandbox.cluster.programs import wait_for
from tests.cli.running import Ran, runner
from tests.cluster.kubelets import group_node
from tests.cluster.reading import account_token, cluster_role
from tests.cluster.temporary import applied
from tests.quotations import ROOT, blocks
from tests.report.page_text import sections

NAME = "live-rights"
GROUP = "general"


def documented_rules(page: str) -> list[Any]:
    """The rules in a how-to guide."""
    (found,) = [block.text for block in blocks(ROOT / "docs" / "how-to" / page) if block.text.startswith("rules:")]
    rules: list[Any] = yaml.safe_load(found)["rules"]
    return rules


@pytest.fixture(autouse=True)
def _node(control_plane: ControlPlane) -> Iterator[None]:
    with applied(control_plane.kube, [group_node(NAME, GROUP, "m7i.large", "amd64")]):
        yield


def cost(ran: Ran) -> None:
    (stack,) = ran.json["stacks"]
    (line,) = [each for each in stack["nodes"] if each["group"] == GROUP]
    assert (line["nodes"], line["instanceTypes"], line["monthly"]) == (1, ["m7i.large"], "82.052")


def capacity(ran: Ran) -> None:
    (lost,) = [each for each in ran.json["failures"] if each["name"] == f"group {GROUP}"]
    assert lost["lost"] == [{"group": GROUP, "nodes": 1}]


def report(ran: Ran) -> None:
    assert ran.code == 0
    found = sections(Path("page.html").read_text(encoding="utf-8"))
    assert [name for name, text in found.items() if "Not read." in text] == ["cost"]


@pytest.mark.parametrize(
    ("command", "check"),
    [
        (("cost", "checkout-dev", "--prices", str(ROOT / "examples" / "prices.json"), "-o", "json"), cost),
        (("capacity", "checkout-dev", "-o", "json"), capacity),
        (("report", "checkout-dev", "--html", "page.html"), report),
    ],
    ids=["cost", "capacity", "report"],
)
def test_the_documented_rights_are_enough_and_needed(
    control_plane: ControlPlane,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: tuple[str, ...],
    check: Any,  # noqa: ANN401
) -> None:
    kube: Kube = control_plane.kube
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    name = f"{NAME}-{command[0]}"
    token = account_token(kube, name, "default", [])
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", control_plane.kube.access, {"token": token})
    run = runner(capsys)

    def asked() -> Ran:
        return run("--project", str(ROOT), *command, "--live", "--kubeconfig", str(kubeconfig))

    assert asked().code == 3
    with applied(kube, cluster_role(name, documented_rules(f"{command[0]}.md"))):
        wait_for(lambda: asked().code != 3, "the rights to take effect", timeout=30)
        ran = asked()
        assert "may not" not in ran.err
        check(ran)
