"""Device plugins run on all nodes with GPUs or EFA interfaces that need them, whatever their taints."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.audit.daemonset_groups import list_planned_groups
from multiarch.audit.daemonset_model import DaemonSetOutcome
from multiarch.audit.daemonset_sources import list_planned_daemon_sets
from multiarch.audit.daemonsets import audit_daemon_sets, list_label_keys
from multiarch.doctor.reach import list_chart_hosts, list_releases, needs_api
from tests.components import autoscaled
from tests.components.declared import PUBLIC, World
from tests.stack.words import merged, plan

NAME, EFA = "nvidia-device-plugin", "aws-efa-k8s-device-plugin"
GPU: dict[str, Any] = {
    **PUBLIC,
    "gpuDevicePlugin": True,
    "efaDevicePlugin": True,
    "nodeGroups": {
        "web": {"minSize": 2},
        "gpu": {"instanceTypes": ["g5g.xlarge"], "taints": ["nvidia.com/gpu=present:NoSchedule"]},
        "own": {"instanceTypes": ["g6.xlarge"], "kind": "self-managed"},
        "neuron": {"instanceTypes": ["inf2.xlarge"]},
        "near": {"instanceTypes": ["c7gn.16xlarge"], "efa": True},
    },
    "autoscaling": {
        "use": "karpenter",
        "karpenter": {"controllerGroup": "web", "nodePools": {"general": {}, "gpu": {"families": ["g5g", "g6"]}}},
    },
}


def test_they_are_declared_where_the_file_says_so_and_tolerate_everything(charted: World, small: World) -> None:
    release: Any = charted.inputs(autoscaled.RELEASE, NAME)
    assert (release["chart"], release["repositoryOpts"]) == (
        NAME,
        {"repo": "https://nvidia.github.io/k8s-device-plugin"},
    )
    assert release["values"]["tolerations"] == [{"operator": "Exists"}]
    efa: Any = charted.inputs(autoscaled.RELEASE, EFA)
    assert (efa["chart"], efa["repositoryOpts"]) == (EFA, {"repo": "https://aws.github.io/eks-charts"})
    # From a registry that every region reaches.
    assert efa["values"]["image"] == {"repository": f"public.ecr.aws/eks/{EFA}"}
    types = efa["values"]["supportedInstanceLabels"]["values"]
    # The chart alone has the one, the table of instance types alone the other.
    assert {"c7gn.16xlarge", "p6e-gb300.36xlarge", "r9g.48xlarge"} < set(types)
    assert "m7g.large" not in types
    assert not {NAME, EFA} & {each.name for each in small.all(autoscaled.RELEASE)}
    for without in (False, None):
        assert NAME not in {each.name for each in plan(merged(GPU, {"gpuDevicePlugin": without})).device_plugins}
    hosts = ("aws.github.io", "nvidia.github.io", "public.ecr.aws")
    assert list_chart_hosts(plan({**GPU, "autoscaling": {}})) == hosts
    assert {NAME, EFA} <= list_releases(plan(GPU))
    assert needs_api(plan({**GPU, "autoscaling": {}, "storageClass": False}))


def test_karpenters_nodes_have_the_efa_plugin_by_their_instance_type() -> None:
    pools = {"near": {"instanceTypes": ["c7gn.16xlarge", "c6in.32xlarge"]}, "far": {"families": ["t4g", "t3"]}}
    words = {**PUBLIC, "efaDevicePlugin": True, "nodeGroups": {"web": {"minSize": 2}}}
    made = plan(
        {**words, "autoscaling": {"use": "karpenter", "karpenter": {"controllerGroup": "web", "nodePools": pools}}}
    )
    (daemon,) = (each for each in list_planned_daemon_sets(made) if each.name == EFA)
    groups = list_planned_groups(made, list_label_keys([daemon])).groups
    cells = audit_daemon_sets([daemon], groups).rows[0].cells
    found = sorted(
        group.name for group, cell in zip(groups, cells, strict=True) if cell.outcome is DaemonSetOutcome.RUNS
    )
    assert found == [f"near-{arch}-{bought}" for arch in ("amd64", "arm64") for bought in ("on-demand", "spot")]


@pytest.mark.parametrize("family", ["AL2023", "AL2"])
def test_it_runs_on_nodes_with_nvidia_gpus_of_both_architectures_and_on_no_other(family: str) -> None:
    made = plan(merged(GPU, {"nodeGroups": {"own": {"amiFamily": family}}, "kubernetesVersion": "1.32"}))
    (daemon,) = (each for each in list_planned_daemon_sets(made) if each.name == NAME)
    groups = list_planned_groups(made, list_label_keys([daemon])).groups
    cells = audit_daemon_sets([daemon], groups).rows[0].cells
    found = {group.name: cell.outcome for group, cell in zip(groups, cells, strict=True)}
    assert set(found.values()) == {DaemonSetOutcome.RUNS, DaemonSetOutcome.EXCLUDED}
    assert {name for name, outcome in found.items() if outcome is DaemonSetOutcome.RUNS} == {
        "gpu",
        "own",
        *(f"gpu-{arch}-{bought}" for arch in ("amd64", "arm64") for bought in ("on-demand", "spot")),
    }
