"""The stand-ins with the real Pulumi engine: a stack of some sixty resources, and what may go wrong with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import engine
from tests.sandbox.leftovers import leftovers
from tests.sandbox.served import CLONE, REGION, Served, address, serving

pytestmark = pytest.mark.e2e

PROGRAM = CLONE / "tests" / "sandbox" / "providers" / "shop_stack.py"


class Stack:
    """The program of ``shop_stack``, with a backend in a folder and the sandbox's AWS."""

    def __init__(self, folder: Path, aws: Served, pulumi: Path) -> None:
        self.folder, self.aws = folder, aws
        (folder / "backend").mkdir()
        path = [CLONE / "sandbox" / "providers" / "bin", pulumi.parent]
        self.environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": aws.endpoint,
            "MULTIARCH_SANDBOX_MANIFESTS": str(folder / "manifests"),
            "MULTIARCH_SANDBOX_PYTHON": sys.executable,
            "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]),
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PYTHONPATH": str(CLONE),
        }

    def start(self, step: str, **program: str) -> subprocess.Popen[str]:
        """Start a step in a session of its own; keywords are the program's ``SHOP_…`` variables."""
        variables = {f"SHOP_{key.upper()}": value for key, value in program.items()}
        return subprocess.Popen(
            [sys.executable, PROGRAM, self.folder / "backend", step],
            env={**self.environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, step: str, **program: str) -> dict[str, int]:
        """Run a step to its end; the operations by kind."""
        with self.start(step, **program) as process:
            out, err = process.communicate(timeout=180)
        assert process.returncode == 0, err[-6000:]
        found: dict[str, int] = json.loads(out)
        return found

    def refused(self, step: str, **program: str) -> str:
        """Run a step that must fail; what it says."""
        with self.start(step, **program) as process:
            out, err = process.communicate(timeout=180)
        assert process.returncode != 0
        return out + err

    def leftovers(self) -> dict[str, list[str]]:
        return leftovers(self.aws.endpoint, REGION)


@pytest.fixture(scope="module")
def pulumi() -> Path:
    return engine.find(print).path


@pytest.fixture
def stack(tmp_path: Path, pulumi: Path) -> Iterator[Stack]:
    with serving() as process:
        yield Stack(tmp_path, Served(address(process)), pulumi)


def test_it_comes_up_changes_and_goes(stack: Stack) -> None:
    created = stack.run("up")
    assert list(created) == ["create"]
    count = created["create"]
    assert count >= 60
    assert stack.run("preview") == {"same": count}
    assert stack.run("refresh") == {"same": count}
    assert stack.run("preview") == {"same": count}
    # one size: one resource
    assert stack.run("up", max_size="5") == {"same": count - 1, "update": 1}
    # user data: the template in place, and the group that uses it
    assert stack.run("up", max_size="5", user_data="c2Vjb25k") == {"same": count - 2, "update": 2}
    assert stack.run("preview", max_size="5", user_data="c2Vjb25k") == {"same": count}
    groups = stack.aws.client("eks").describe_nodegroup(
        clusterName="shop", nodegroupName=stack.aws.client("eks").list_nodegroups(clusterName="shop")["nodegroups"][0]
    )
    assert groups["nodegroup"]["scalingConfig"]["maxSize"] == 5
    assert [file.name[:22] for file in (stack.folder / "manifests" / "dev").iterdir()] == ["core_configmap_kube-sy"]
    assert stack.run("destroy") == {"delete": count}
    assert stack.leftovers() == {}
    assert list((stack.folder / "manifests" / "dev").iterdir()) == []


def test_what_was_deleted_outside_is_seen_and_made_again(stack: Stack) -> None:
    count = stack.run("up")["create"]
    before = stack.leftovers()
    stack.aws.client("logs").delete_log_group(logGroupName="shop-sessions")
    eks = stack.aws.client("eks")
    eks.delete_addon(clusterName="shop", addonName="coredns")
    (nodes,) = eks.list_nodegroups(clusterName="shop")["nodegroups"]
    eks.update_nodegroup_config(clusterName="shop", nodegroupName=nodes, scalingConfig={"maxSize": 9})
    assert stack.run("refresh") == {"delete": 2, "same": count - 3, "update": 1}
    assert stack.run("up") == {"create": 2, "same": count - 3, "update": 1}
    assert stack.leftovers() == before
    group = eks.describe_nodegroup(clusterName="shop", nodegroupName=nodes)["nodegroup"]
    assert group["scalingConfig"]["maxSize"] == 3
    assert stack.run("destroy") == {"delete": count}
    assert stack.leftovers() == {}


def test_an_input_the_component_does_not_model_is_named(stack: Stack) -> None:
    said = stack.refused("preview", eks_input=json.dumps({"instance_type": "m7i.large"}))
    assert "does not model the input instanceType of eks:index:Cluster" in said


def test_without_the_sandboxs_address_nothing_starts(stack: Stack) -> None:
    stack.environment["AWS_ENDPOINT_URL"] = "https://ec2.eu-west-1.amazonaws.com"
    said = stack.refused("preview")
    assert "is not an address of this machine" in said
    assert stack.leftovers() == {}
