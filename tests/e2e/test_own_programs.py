"""Programs that are not this repository's, brought up by the real engine in a sandbox: in Python, and in Pulumi YAML.

Both have only the wheel, in a virtual environment of its own. The YAML program reaches the components through the
plugin that the wheel installs, as programs in any other language do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from sandbox.layout import CLONE
from tests.components.provider.programs import POD
from tests.e2e.conftest import watched
from tests.e2e.world import TIMEOUT, World
from tests.scheduling.manifests import ARM64_TOLERATION
from tests.wheel import environment
from tools import build

pytestmark = pytest.mark.e2e
EXAMPLES = CLONE / "examples" / "10-own-program"
STACK = "dev"
IMAGES = {"general": "AL2023_x86_64_STANDARD", "graviton": "AL2023_ARM_64_STANDARD"}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; the clone is not on its module path."""
    return environment(tmp_path_factory.mktemp("environment"))


@dataclass(frozen=True)
class Program(World):
    """A program, and the Python with which the sandbox runs it: that comes first on the engine's PATH."""

    python: Path

    def sandbox(self, *arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
        host = build.ensure("pulumi-language-yaml").parent
        done = subprocess.run(
            [self.python, "-m", "sandbox", "--project", self.root, *arguments],
            cwd=CLONE,
            env=os.environ | {"PATH": f"{host}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


@pytest.fixture
def program(request: pytest.FixtureRequest, python: Path, tmp_path: Path) -> Iterator[Program]:
    """An example as a project of its own, and nothing of this repository beside it."""
    made = Program(tmp_path / "program", python)
    shutil.copytree(EXAMPLES / request.param, made.root)
    with watched(made.root, lambda _: made):
        yield made


def images(program: Program) -> dict[str, str]:
    """The image of each node group that EKS has, by the start of its name."""
    eks = program.aws(STACK).client("eks")
    names = eks.list_nodegroups(clusterName="shop-dev")["nodegroups"]
    groups = [eks.describe_nodegroup(clusterName="shop-dev", nodegroupName=name)["nodegroup"] for name in names]
    return {group["nodegroupName"].rpartition("-")[0]: group["amiType"] for group in groups}


@pytest.mark.parametrize("program", ["python"], indirect=True)
def test_a_python_program_that_imports_the_installed_package_comes_up(program: Program) -> None:
    program.sandbox("up", STACK)
    assert images(program) == IMAGES
    assert program.outputs(STACK)["nodeGroups"]["graviton"]["architecture"] == "arm64"
    types = {resource["type"] for resource in program.resources(STACK)}
    assert {"multiarch-eks:index:Platform", "multiarch-eks:components:Platform"} <= types


def with_parts(program: Program) -> None:
    """Add the other components to the YAML program, in the platform's cluster."""
    found = yaml.safe_load(program.settings.read_text(encoding="utf-8"))
    cluster = {"name": "shop-dev", "kubernetesVersion": "1.35"}
    batch = {"instanceTypes": ["m7g.xlarge"], "maxSize": 5}
    # A transform of the plugin's, for a component of another plugin.
    found["resources"]["shop"]["properties"]["zonalShift"] = True
    found["resources"] |= {
        "batch": {
            "type": "multiarch-eks:NodeGroup",
            "properties": {
                **batch,
                "cluster": {
                    **cluster,
                    "endpoint": "${shop.endpoint}",
                    "certificateAuthority": "${shop.certificateAuthority}",
                    "serviceCidr": "${shop.serviceCidr}",
                    "securityGroupId": "${shop.securityGroupId}",
                },
                "subnetIds": "${shop.privateSubnetIds}",
                "clusterAutoscaler": True,
            },
        },
        "autoscaler": {
            "type": "multiarch-eks:ClusterAutoscaler",
            "properties": {
                "cluster": {**cluster, "kubeconfig": "${shop.kubeconfig}"},
                "nodeGroups": {"batch": batch},
            },
        },
        "karpenter": {
            "type": "multiarch-eks:Karpenter",
            "properties": {
                "cluster": {
                    **cluster,
                    "kubeconfig": "${shop.kubeconfig}",
                    "securityGroupId": "${shop.securityGroupId}",
                },
                "subnetIds": "${shop.privateSubnetIds}",
                "controllerGroup": "${batch.nodeGroupName}",
            },
        },
        "workloads": {
            "type": "multiarch-eks:PatchedWorkloads",
            "properties": {"objects": [POD], "tolerate": ["arch=arm64:NoSchedule"], "prefer": "arm64"},
        },
    }
    found["outputs"] |= {
        "batch": "${batch.architecture}",
        "pools": "${karpenter.nodePools}",
        "priorities": "${autoscaler.priorities}",
        "objects": "${workloads.objects}",
        "subnets": "${shop.privateSubnetIds}",
    }
    # JSON is YAML too, and has no aliases, which Pulumi does not take.
    program.settings.write_text(json.dumps(found, indent=2), encoding="utf-8")


def subnets_of_nodes(program: Program) -> set[str]:
    """The subnets that Karpenter's EC2NodeClass names."""
    (file,) = program.layout.manifests(STACK).glob("*ec2nodeclass*")
    node_class = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {term["id"] for term in node_class["spec"]["subnetSelectorTerms"]}


@pytest.mark.parametrize("program", ["yaml"], indirect=True)
def test_a_yaml_program_comes_up_by_the_plugin_and_is_rejected_with_the_property(program: Program) -> None:
    with_parts(program)
    program.sandbox("up", STACK)
    assert images(program) == {**IMAGES, "batch": "AL2023_ARM_64_STANDARD"}
    cluster = program.aws(STACK).client("eks").describe_cluster(name="shop-dev")["cluster"]
    assert cluster["zonalShiftConfig"] == {"enabled": True}
    told = program.outputs(STACK)
    assert (told["batch"], list(told["priorities"])) == ("arm64", ["batch"])
    assert told["pools"][0] == "general-arm64-spot"
    assert subnets_of_nodes(program) == set(told["subnets"])
    assert told["objects"][0]["spec"]["tolerations"] == [ARM64_TOLERATION]
    assert told["nodeGroups"]["general"]["architecture"] == "amd64"

    unchanged = program.sandbox("preview", STACK).stdout
    assert " unchanged\n" in unchanged
    assert " to " not in unchanged.partition("Resources:")[2]

    settings = program.settings.read_text(encoding="utf-8")
    program.settings.write_text(settings.replace('"m7g.large"', '"m7g.large", "m7i.large"'), encoding="utf-8")
    rejected = program.sandbox("preview", STACK, expect=3)
    said = " ".join((rejected.stdout + rejected.stderr).split())
    assert "property nodeGroups.graviton.instanceTypes with value" in said
    assert "m7g.large is arm64 and m7i.large is amd64; a node group has one architecture." in said
    assert "Traceback" not in said
