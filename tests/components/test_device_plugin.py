"""Device plugins run on all nodes with GPUs or EFA interfaces that need them, whatever their taints."""

from __future__ import annotations

from typing import Any

from multiarch.audit.daemonset_groups import list_planned_groups
from multiarch.audit.daemonset_model import DaemonSetOutcome
from multiarch.audit.daemonset_sources import list_planned_daemon_sets
from multiarch.audit.daemonsets import audit_daemon_sets, list_label_keys
from multiarch.doctor.reach import list_chart_hosts, list_charts, needs_api
from tests.components import autoscaled
from tests.components.declared import PUBLIC, World
from tests.stack.words import merged, plan

NAME, EFA = "nvidia-device-plugin", "aws-efa-k8s-device-plugin"
POOLS = {
    "general": {"families": ["t4g", "t3"]},
    "gpu": {"families": ["g5g", "g6"]},
    "fast": {"instanceTypes": ["c7gn.16xlarge", "c6in.32xlarge"]},
}
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
        "karpenter": {"controllerGroup": "web", "nodePools": POOLS},
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
    assert {NAME, EFA} <= list_charts(plan(GPU)).keys()
    assert needs_api(plan({**GPU, "autoscaling": {}, "storageClass": False}))


def test_they_run_on_nodes_with_gpus_or_efa_of_both_architectures_and_on_no_other() -> None:
    """Of Karpenter's nodes both know the instance type only."""
    made = plan(GPU)
    daemons = [each for each in list_planned_daemon_sets(made) if each.name in (NAME, EFA)]
    groups = list_planned_groups(made, list_label_keys(daemons)).groups
    found: dict[str, set[str]] = {}
    for row in audit_daemon_sets(daemons, groups).rows:
        outcomes = {group.name: cell.outcome for group, cell in zip(groups, row.cells, strict=True)}
        assert set(outcomes.values()) == {DaemonSetOutcome.RUNS, DaemonSetOutcome.EXCLUDED}
        found[row.daemon_set.name] = {name for name, outcome in outcomes.items() if outcome is DaemonSetOutcome.RUNS}
    kinds = [f"{arch}-{bought}" for arch in ("amd64", "arm64") for bought in ("on-demand", "spot")]
    assert found[NAME] == {"gpu", "own", *(f"gpu-{kind}" for kind in kinds)}
    # Large types of g6 have EFA.
    assert found[EFA] == {"near", *(f"fast-{kind}" for kind in kinds), "gpu-amd64-on-demand", "gpu-amd64-spot"}
