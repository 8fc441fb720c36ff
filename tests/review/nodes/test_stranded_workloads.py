"""Workloads that lose their nodes or move, by simulation; and what is lost, without manifests."""

from __future__ import annotations

from typing import Any

from multiarch.review.model import Step
from multiarch.review.nodes import workloads
from multiarch.rules import Finding, Risk
from tests.review.by_hand import GROUP, MANAGED, by_rule, change, changed, made, said
from tests.scheduling.manifests import ARM64_TOLERATION
from tests.simulate.simulated import grown, pods
from tests.stack.words import plan

BOTH: dict[str, Any] = {"web": {"instanceTypes": ["m7i.large"]}, "web-arm": {"instanceTypes": ["m7g.large"]}}
AMD64_ONLY: dict[str, Any] = {"web": BOTH["web"]}
ARM64 = pods("arm", 2, nodeSelector={"kubernetes.io/arch": "arm64"}, tolerations=[ARM64_TOLERATION])
ANY = pods("any", 1, tolerations=[ARM64_TOLERATION])
PLAIN = pods("plain")


def find(*steps: Step, **more: Any) -> list[Finding]:
    return list(workloads.find_affected_workloads(change(*steps, **more)))


def test_workloads_that_lose_their_nodes_or_move_are_named_with_the_reason() -> None:
    plans = (plan(grown(BOTH)), plan(grown(AMD64_ONLY)))
    found = find(plans=plans, manifests=[ARM64, ANY, PLAIN])
    (stranded,) = by_rule(found)["strand-workloads"]
    assert stranded.subject == "shop Deployment/arm"
    assert stranded.text == "None of its 2 pods gets a node any more (before: 2 on web-arm)."
    assert any(detail.startswith("web: ") and "kubernetes.io/arch" in detail for detail in stranded.details)
    assert "web-arm: removed." in stranded.details
    assert stranded.level is Risk.HIGH
    (moved,) = by_rule(found)["move-workloads"]
    assert (moved.subject, moved.text) == ("shop Deployment/any", "New pods get amd64 nodes (before: arm64).")
    assert "1 on web" in said([moved])


def test_pods_that_had_no_node_before_are_told_apart() -> None:
    narrow, narrower = (grown({"web": {"instanceTypes": ["m7i.large"], "maxSize": most}}) for most in (2, 1))
    (stranded,) = find(plans=(plan(narrow), plan(narrower)), manifests=[pods("big", 3)])
    assert stranded.text == "1 of 3 pods gets no node any more (before: 2 on web; 1 had none before)."
    assert "web: at its maxSize 1." in stranded.details


def test_a_taint_that_a_workload_does_not_tolerate_strands_it() -> None:
    old = grown(BOTH)
    tainted = {**BOTH["web"], "taints": ["team=pay:NoSchedule"]}
    new = grown({"web": tainted, "web-arm": BOTH["web-arm"]})
    (stranded,) = find(plans=(plan(old), plan(new)), manifests=[PLAIN])
    assert "Its pod gets no node any more (before: 1 on web)." in stranded.text
    assert "does not tolerate team=pay:NoSchedule" in said([stranded])


def test_a_workload_that_had_no_node_before_is_no_news() -> None:
    nowhere = pods("nowhere", nodeSelector={"team": "pay"})
    assert find(plans=(plan(grown(BOTH)), plan(grown(AMD64_ONLY))), manifests=[nowhere]) == []


GENERAL = {**MANAGED, "instanceTypes": ["m7i.large"], "labels": {}, "taints": []}
TIER = "checkout.example.com/tier=graviton"
KEEPS = made(GROUP, "arm", *[{**MANAGED, "labels": {}}] * 2)
STAYS = made(GROUP, "general", GENERAL, GENERAL)


def test_without_manifests_what_no_group_has_any_more_is_named() -> None:
    found = find(STAYS, made(GROUP, "graviton", MANAGED, None))
    assert [(each.text, each.level) for each in found] == [
        ("No group has arm64 nodes any more: pods that need arm64 can't be scheduled.", Risk.HIGH),
        (f"No node has the label {TIER} any more: pods that request it can't be scheduled.", Risk.MEDIUM),
    ]


def test_a_label_that_only_nodes_of_another_architecture_keep_is_named() -> None:
    other = {**MANAGED, "instanceTypes": ["m7i.large"]}
    (found,) = find(made(GROUP, "batch-arm", MANAGED, None), made(GROUP, "batch-amd", None, other), KEEPS)
    assert found.text == f"No arm64 node has the label {TIER} any more: pods that request it need images for amd64."


def test_the_last_untainted_nodes_are_missed() -> None:
    taint = {"effect": "NO_SCHEDULE", "key": "team", "value": "pay"}
    (found,) = find(changed(GROUP, "general", GENERAL, {"taints": [taint]}), made(GROUP, "graviton", MANAGED, MANAGED))
    assert found.text.startswith("No group has untainted amd64 nodes any more")
    assert found.level is Risk.HIGH


def test_a_preview_without_unchanged_resources_does_not_claim_to_know_all_groups() -> None:
    new = made(GROUP, "new", None, GENERAL)
    found = find(new, made(GROUP, "graviton", MANAGED, None))
    assert all("is unknown" in each.text for each in found)
    assert {each.level for each in found} == {Risk.MEDIUM}


def test_a_zone_that_is_left_is_named() -> None:
    zones = [
        {
            "network": {"zones": ["eu-west-1a", "eu-west-1b"]},
            "nodeGroups": {n: {"zones": z} for n in ("web", "web-arm")},
        }
        for z in (["eu-west-1a", "eu-west-1b"], ["eu-west-1a"])
    ]
    steps = [changed(GROUP, name, MANAGED, {"subnetIds": ["subnet-87dcb85ad09f86de1"]}) for name in ("web", "web-arm")]
    found = find(*steps, plans=(plan(zones[0]), plan(zones[1])))
    assert "No group has nodes in eu-west-1b any more: pods with volumes there can't be scheduled." in said(found)


def test_a_renamed_group_loses_nothing() -> None:
    assert find(STAYS, made(GROUP, "graviton", MANAGED, None), made(GROUP, "arm", None, MANAGED)) == []


def test_an_unchanged_stack_has_no_finding() -> None:
    assert find(STAYS, made(GROUP, "graviton", MANAGED, MANAGED)) == []
    assert find(plans=(plan(), plan()), manifests=[PLAIN]) == []
