"""An installed cluster autoscaler: which flags its owner has to set, and what is said of those that it has."""

from __future__ import annotations

import re

import pytest
import yaml

from multiarch.autoscaling.expander import format_priorities
from multiarch.autoscaling.model import ClusterAutoscalerPlan
from multiarch.autoscaling.owner_flags import find_wrong_flags, list_owner_flags
from tests.stack.test_existing_cluster import scaled
from tests.stack.words import merged, plan

DISCOVERY = "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/shop"


def installed(**change: object) -> ClusterAutoscalerPlan:
    found = plan(merged(scaled("cluster-autoscaler", "clusterAutoscaler"), change)).autoscaling.cluster_autoscaler
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--expander=priority,least-waste", DISCOVERY, "--balance-similar-node-groups"], None),
        (["--expander", "priority", "--namespace", "kube-system", DISCOVERY], None),
        (["--expander=priority", "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled=true"], None),
        (["--expander=least-waste,priority", DISCOVERY], "--expander is least-waste,priority"),
        (["--expander=priority", "--namespace=autoscaling", DISCOVERY], "--namespace is autoscaling"),
        (["--expander=priority", "--node-group-auto-discovery=asg:tag=team/a"], "is asg:tag=team/a"),
    ],
)
def test_a_flag_that_leaves_the_stack_without_effect_is_named(arguments: list[str], says: str | None) -> None:
    found = list(find_wrong_flags(["--v=4", *arguments, "--stderrthreshold=info"], installed(), "shop"))
    assert [says in each for each in found if says] == ([True] if says else [])
    assert len(found) == bool(says)


def test_the_flags_that_are_asked_for_are_right_also_where_balancing_must_be_off() -> None:
    both = {name: {"instanceTypes": ["m7g.large"]} for name in ("web", "web-arm")}
    apart = installed(nodeGroups=both, autoscaling={"clusterAutoscaler": {"priorities": {"web": 80}}})
    assert not apart.balance_similar
    for each in (installed(), apart):
        assert list(find_wrong_flags(list_owner_flags(each, "shop"), each, "shop")) == []
    (fault,) = find_wrong_flags(
        [*list_owner_flags(installed(), "shop"), "--balance-similar-node-groups=true"], apart, "shop"
    )
    assert "web and web-arm" in fault


def test_another_namespace_is_that_of_the_stack_file() -> None:
    other = installed(autoscaling={"clusterAutoscaler": {"namespace": "scaling"}})
    assert "--namespace=scaling" in list_owner_flags(other, "shop")
    (fault,) = find_wrong_flags(list_owner_flags(installed(), "shop"), other, "shop")
    assert fault.endswith("it does not read the ConfigMap cluster-autoscaler-priority-expander in scaling")


def test_groups_that_no_line_of_the_stack_matches_are_still_used_and_come_last() -> None:
    lines = yaml.safe_load(format_priorities(installed().priorities, with_others=True))
    matching = {
        priority
        for priority, expressions in lines.items()
        if any(re.search(each, "eks-legacy-1") for each in expressions)
    }
    assert matching == {min(lines)}
