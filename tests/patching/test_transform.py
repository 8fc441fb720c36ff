from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Taint, parse_taint
from multiarch.manifests.values import ManifestError
from multiarch.patching.transform import ContradictionError, SchedulingChange, Transformed, transform_pod_spec
from multiarch.scheduling.affinity import read_node_affinity
from multiarch.scheduling.architectures import list_allowed_architectures, list_exclusions, wrap_pod_spec
from multiarch.scheduling.pod_spec import PodSpec, read_pod_spec
from multiarch.scheduling.tolerations import find_untolerated, read_tolerations
from tests.scheduling.manifests import expression, required, spec

ARM, AMD = Architecture.ARM64, Architecture.AMD64
KEY = "kubernetes.io/arch"
OLD_KEY = "beta.kubernetes.io/arch"
TAINT = parse_taint("arch=arm64:NoSchedule")
ARM_ONLY = {"key": KEY, "operator": "In", "values": ["arm64"]}

# -- brute force: every node that can be made of a few labels ----------------------------------------------------------

VALUES: Mapping[str, tuple[str | None, ...]] = {
    KEY: (None, "amd64", "arm64", "7"),
    OLD_KEY: (None, "amd64", "arm64"),
    "disk": (None, "ssd", "9"),
}
NODES = [
    {key: value for key, value in zip(VALUES, values, strict=True) if value is not None}
    for values in itertools.product(*VALUES.values())
]
TAINTS = [parse_taint(text) for text in ("arch=arm64:NoSchedule", "arch=amd64:NoSchedule", "arch:NoSchedule",
    "arch=arm64:NoExecute", "gpu=true:NoSchedule", "arch=arm64:PreferNoSchedule")]  # fmt: skip
TAINT_SETS = [tuple(chosen) for size in range(len(TAINTS) + 1) for chosen in itertools.combinations(TAINTS, size)]

KEYS = st.sampled_from(list(VALUES))
WORDS = st.sampled_from(["amd64", "arm64", "ssd", "7", "9"])
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: expression(key, operator, *values),
        KEYS, st.sampled_from(["In", "NotIn"]), st.lists(WORDS, min_size=1, max_size=3, unique=True),
    ),
    st.builds(expression, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(expression, KEYS, st.sampled_from(["Gt", "Lt"]), st.sampled_from(["8", "many"])),
)  # fmt: skip
TERMS = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(EXPRESSIONS, max_size=3),
        "matchFields": st.just([{"key": "metadata.name", "operator": "NotIn", "values": ["node-7"]}]),
    },
)
REQUIRED = st.one_of(
    st.none(), st.builds(lambda terms: {"nodeSelectorTerms": terms}, st.lists(TERMS, min_size=1, max_size=3))
)
PREFERRED = st.one_of(
    st.none(),
    st.lists(
        st.builds(lambda weight, term: {"weight": weight, "preference": term}, st.integers(1, 100), TERMS), max_size=2
    ),
)
AFFINITIES = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.one_of(st.none(), st.fixed_dictionaries({}, optional={
            "requiredDuringSchedulingIgnoredDuringExecution": REQUIRED,
            "preferredDuringSchedulingIgnoredDuringExecution": PREFERRED,
            "somethingNew": st.just({"kept": [1]}),
        })),
        "podAffinity": st.just({}),
    },
)  # fmt: skip
SELECTORS = st.dictionaries(KEYS, WORDS, max_size=2)
TOLERATIONS = st.lists(
    st.sampled_from([
        {"operator": "Exists"},
        {"key": "arch", "operator": "Exists"},
        {"key": "arch", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "arch", "value": "arm64"},
        {"key": "arch", "operator": "Equal", "value": "amd64", "effect": "NoSchedule"},
        {"key": "arch", "operator": "Equal", "effect": "NoSchedule"},
        {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoExecute", "tolerationSeconds": 60},
        {"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
    ]),
    max_size=3,
)  # fmt: skip
SPECS = st.builds(
    lambda parts: spec(somethingNew={"a": None}, **parts),
    st.fixed_dictionaries(
        {},
        optional={
            "nodeSelector": st.one_of(st.none(), SELECTORS),
            "affinity": st.one_of(st.none(), AFFINITIES),
            "tolerations": st.one_of(st.none(), TOLERATIONS),
        },
    ),
)
ARCHITECTURES = st.sampled_from(list(Architecture))


def read(written: Mapping[str, object]) -> PodSpec:
    return read_pod_spec(wrap_pod_spec(written))


def allowed(written: Mapping[str, object]) -> list[int]:
    """Numbers of all the nodes that selector and affinity allow, judged by the reading side."""
    affinity = read_node_affinity(wrap_pod_spec(written))
    return [number for number, labels in enumerate(NODES) if affinity.allows(labels)]


def tolerated_sets(written: Mapping[str, object]) -> set[tuple[Taint, ...]]:
    """All sets of taints that a pod tolerates."""
    found = read_tolerations(wrap_pod_spec(written)["tolerations"])
    return {taints for taints in TAINT_SETS if find_untolerated(found, taints) is None}


def kept(before: object, after: object) -> bool:
    """Whether everything in ``before`` is in ``after``, lists in their order, new elements at their end."""
    if isinstance(before, Mapping):
        assert isinstance(after, Mapping)
        assert list(after)[: len(before)] == list(before)
        return all(kept(value, after[key]) for key, value in before.items())
    if isinstance(before, list):
        assert isinstance(after, list)
        return len(after) >= len(before) and all(map(kept, before, after))
    return before is None or before == after


def check_always(written: Mapping[str, Any], change: SchedulingChange) -> Transformed:
    """What holds for every transformation."""
    original = copy.deepcopy(written)
    found = transform_pod_spec(written, change)
    assert written == original, "the input was changed"
    assert kept(written, found.spec)
    assert found.changed is (found.spec != written) is bool(found.done)
    again = transform_pod_spec(found.spec, change)
    assert (again.spec, again.additions, again.done) == (found.spec, (), ())
    read(found.spec)
    return found


@settings(max_examples=200, deadline=None)
@given(SPECS, ARCHITECTURES)
def test_a_required_architecture_leaves_exactly_the_nodes_of_that_architecture(
    written: dict[str, Any], architecture: Architecture
) -> None:
    here = [number for number in allowed(written) if NODES[number].get(KEY) == architecture]
    try:
        found = check_always(written, SchedulingChange(require=architecture))
    except ContradictionError:
        real = [number for number in here if NODES[number].get(OLD_KEY) == architecture]
        assert real == [], "there is such a node as kubelets label it"
        assert architecture not in list_allowed_architectures(written)
        return
    assert allowed(found.spec) == here
    assert tolerated_sets(found.spec) == tolerated_sets(written)
    assert list_allowed_architectures(found.spec) == {architecture}


@settings(max_examples=150, deadline=None)
@given(SPECS, ARCHITECTURES, st.integers(1, 100))
def test_a_preferred_architecture_changes_no_node_but_its_worth(
    written: dict[str, Any], architecture: Architecture, weight: int
) -> None:
    try:
        found = check_always(written, SchedulingChange(prefer=architecture, weight=weight))
    except ContradictionError:
        assert architecture not in list_allowed_architectures(written)
        return
    assert allowed(found.spec) == allowed(written)
    assert tolerated_sets(found.spec) == tolerated_sets(written)
    old, new = (read_node_affinity(wrap_pod_spec(each)) for each in (written, found.spec))
    for labels in NODES:
        more = weight if found.changed and labels.get(KEY) == architecture else 0
        assert new.score(labels) == old.score(labels) + more


@settings(max_examples=150, deadline=None)
@given(SPECS, st.lists(st.sampled_from(TAINTS), min_size=1, max_size=3))
def test_a_tolerated_taint_lets_a_pod_bear_that_taint_and_no_other(
    written: dict[str, Any], taints: list[Taint]
) -> None:
    found = check_always(written, SchedulingChange(tolerate=tuple(taints)))
    assert allowed(found.spec) == allowed(written)
    before = tolerated_sets(written)
    assert tolerated_sets(found.spec) == {
        each for each in TAINT_SETS if tuple(t for t in each if t not in taints) in before
    }


@settings(max_examples=150, deadline=None)
@given(SPECS)
def test_an_architecture_is_open_exactly_if_a_node_of_it_is_allowed_by_the_rules_on_architecture(
    written: dict[str, Any],
) -> None:
    """Other labels are taken to be met, so they are taken out first; a term without any is as good as no rule."""
    stripped = copy.deepcopy(written)
    for rule in list(other_rules(stripped)):
        if rule["operator"] not in {"Gt", "Lt"} or rule["values"] == ["8"]:
            rule.clear()
            rule.update(expression(KEY, "Exists"))
    stripped["nodeSelector"] = {key: v for key, v in (written.get("nodeSelector") or {}).items() if key != "disk"}
    affinity = read_node_affinity(wrap_pod_spec(stripped))
    expected = {each for each in Architecture if affinity.allows({KEY: each, OLD_KEY: each})}
    assert list_allowed_architectures(written) == expected
    assert {each.architecture for each in list_exclusions(written)} == set(Architecture) - expected


def other_rules(written: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    rules = (written.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (rules.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or []
    for term in terms:
        yield from (each for each in term.get("matchExpressions") or [] if each["key"] == "disk")


# -- by hand -----------------------------------------------------------------------------------------------------------


def terms_of(written: Mapping[str, Any]) -> list[dict[str, Any]]:
    rules = written["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    found: list[dict[str, Any]] = rules["nodeSelectorTerms"]
    return found


def test_a_requirement_is_added_to_every_term_and_never_as_a_term() -> None:
    ssd, gpu = expression("disk", "In", "ssd"), expression("gpu", "Exists")
    found = transform_pod_spec(spec(affinity=required([ssd], [gpu])), SchedulingChange(require=ARM))
    assert terms_of(found.spec) == [{"matchExpressions": [ssd, ARM_ONLY]}, {"matchExpressions": [gpu, ARM_ONLY]}]
    assert found.done == ("requires architecture arm64 in affinity terms 1, 2",)


def test_a_term_that_says_it_already_is_left_alone() -> None:
    either = expression(KEY, "In", "arm64", "amd64")
    found = transform_pod_spec(
        spec(affinity=required([ARM_ONLY], [either], [either, expression(KEY, "NotIn", "amd64")])),
        SchedulingChange(require=ARM),
    )
    assert found.done == ("requires architecture arm64 in affinity term 2",)


def test_a_node_selector_that_says_the_same_is_enough() -> None:
    found = transform_pod_spec(spec(nodeSelector={KEY: "arm64"}), SchedulingChange(require=ARM))
    assert not found.changed
    assert found.notes == ("requires architecture arm64 already, by nodeSelector",)


CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"nodeSelector": {KEY: "amd64"}}, "nodeSelector requires kubernetes.io/arch=amd64"),
    ({"affinity": required([expression(KEY, "In", "amd64")])}, "architecture amd64 required by affinity term 1"),
    (
        {"affinity": required([expression("disk", "In", "ssd"), expression(OLD_KEY, "In", "amd64")])},
        "architecture amd64 required by affinity term 1",
    ),
    ({"nodeSelector": {"kubernetes.io/os": "windows"}}, "nodeSelector requires kubernetes.io/os=windows (amd64 only)"),
    ({"os": {"name": "windows"}}, "os.name requires windows (amd64 only)"),
    (
        {"nodeSelector": {"node.kubernetes.io/instance-type": "m5.large"}},
        "nodeSelector requires node.kubernetes.io/instance-type=m5.large (amd64 only)",
    ),
    (
        {"affinity": required([expression("karpenter.k8s.aws/instance-cpu-manufacturer", "In", "intel", "amd")])},
        "karpenter.k8s.aws/instance-cpu-manufacturer in [intel, amd] required by affinity term 1 (amd64 only)",
    ),
    (
        {"affinity": required([expression("kubernetes.io/os", "NotIn", "linux")])},
        "kubernetes.io/os!=linux required by affinity term 1 (amd64 only)",
    ),
    (
        {
            "affinity": required(
                [
                    expression("node.kubernetes.io/instance-type", "In", "m5.large", "m7g.large"),
                    expression("node.kubernetes.io/instance-type", "NotIn", "m7g.large"),
                ]
            )
        },
        (
            "node.kubernetes.io/instance-type in [m5.large, m7g.large] required by affinity term 1 and "
            "node.kubernetes.io/instance-type!=m7g.large required by affinity term 1 (amd64 only)"
        ),
    ),
    (
        {
            "affinity": required(
                [
                    expression("karpenter.k8s.aws/instance-category", "In", "m"),
                    expression("karpenter.k8s.aws/instance-generation", "Lt", "6"),
                ]
            )
        },
        (
            "karpenter.k8s.aws/instance-category=m required by affinity term 1 and "
            "karpenter.k8s.aws/instance-generation<6 required by affinity term 1 (amd64 only)"
        ),
    ),
]


@pytest.mark.parametrize(("rules", "reason"), CONTRADICTIONS)
@pytest.mark.parametrize("verb", ["require", "prefer"])
def test_what_excludes_an_architecture_is_named_when_it_is_wanted(
    rules: dict[str, Any], reason: str, verb: str
) -> None:
    change = SchedulingChange(require=ARM) if verb == "require" else SchedulingChange(prefer=ARM)
    with pytest.raises(ContradictionError) as raised:
        transform_pod_spec(spec(**rules), change)
    assert raised.value.reason == reason
    assert str(raised.value).startswith(f"document 1: spec: can't {verb} architecture arm64: {reason}.")
    assert {each.architecture: each.reason for each in list_exclusions(spec(**rules))}[ARM] == reason


@pytest.mark.parametrize(
    "rules",
    [
        {"nodeSelector": {"kubernetes.io/os": "linux"}, "os": {"name": "linux"}},
        {"nodeSelector": {"node.kubernetes.io/instance-type": "m99.huge"}},
        {"affinity": required([expression("node.kubernetes.io/instance-type", "In", "m5.large", "m7g.large")])},
        {"affinity": required([expression("node.kubernetes.io/instance-type", "NotIn", "m5.large")])},
        {"affinity": required([expression("node.kubernetes.io/windows-build", "DoesNotExist")])},
        {"nodeSelector": {"karpenter.k8s.aws/instance-generation": "5"}},
        {
            "affinity": required(
                [
                    expression("karpenter.k8s.aws/instance-category", "In", "c", "m"),
                    expression("karpenter.k8s.aws/instance-generation", "Gt", "5"),
                ]
            )
        },
        {
            "nodeSelector": {"karpenter.k8s.aws/instance-category": "m"},
            "affinity": required([expression("karpenter.k8s.aws/instance-generation", "In", "99")]),
        },
        {
            "affinity": required(
                [expression("node.kubernetes.io/instance-type", "In", "m5.large")], [expression("a", "Exists")]
            )
        },
    ],
)
def test_what_some_node_of_both_may_meet_excludes_none(rules: dict[str, Any]) -> None:
    assert list_allowed_architectures(spec(**rules)) == {AMD, ARM}


@pytest.mark.parametrize(("rules", "reason"), CONTRADICTIONS)
def test_a_toleration_that_does_not_help_says_why(rules: dict[str, Any], reason: str) -> None:
    change = SchedulingChange(tolerate=(TAINT,), tolerate_on=ARM)
    assert transform_pod_spec(spec(**rules), change).notes == (f"still can't use arm64 nodes: {reason}",)
    assert transform_pod_spec(spec(), change).notes == ()


def test_the_reason_names_each_term() -> None:
    terms = required([expression(KEY, "NotIn", "arm64")], [expression(KEY, "In", "amd64")])
    reason = (
        "architecture other than arm64 required by affinity term 1, and architecture amd64 required by affinity term 2"
    )
    assert [(each.architecture, each.reason) for each in list_exclusions(spec(affinity=terms))] == [(ARM, reason)]


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ({"operator": "Exists"}, "tolerates arch=arm64:NoSchedule already, by the toleration everything"),
    ],
)
def test_a_toleration_that_covers_the_taint_is_enough(there: dict[str, Any], words: str) -> None:
    found = transform_pod_spec(spec(tolerations=[there]), SchedulingChange(tolerate=(TAINT,)))
    assert (found.changed, found.notes) == (False, (words,))


def test_a_toleration_for_some_seconds_is_told() -> None:
    """The first toleration that matches sets the time, so another one behind it would not help."""
    there = {"key": "arch", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    found = transform_pod_spec(
        spec(tolerations=[there]), SchedulingChange(tolerate=(parse_taint("arch=arm64:NoExecute"),))
    )
    assert found.notes == ("tolerates arch=arm64:NoExecute for 60 seconds only, by the toleration arch:NoExecute",)


def test_a_preference_that_weighs_as_much_for_the_other_is_told() -> None:
    preferred = [{"weight": 100, "preference": {"matchExpressions": [expression(KEY, "In", "amd64")]}}]
    rules = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    found = transform_pod_spec(spec(affinity=rules), SchedulingChange(prefer=ARM))
    assert found.changed
    assert found.notes == ("also prefers architecture amd64 with weight 100, which is not lower",)


def test_a_preference_is_not_written_twice_with_another_weight() -> None:
    once = transform_pod_spec(spec(), SchedulingChange(prefer=ARM, weight=30)).spec
    found = transform_pod_spec(once, SchedulingChange(prefer=ARM, weight=100))
    assert (found.changed, found.notes) == (False, ("prefers architecture arm64 already, with weight 30",))


def test_what_the_api_server_rejects_is_rejected_with_its_path() -> None:
    with pytest.raises(ManifestError, match=r"spec\.affinity\.nodeAffinity.*nodeSelectorTerms: needs at least one"):
        transform_pod_spec(spec(affinity=required()), SchedulingChange(require=ARM))
    with pytest.raises(ManifestError, match=r"spec\.tolerations\[0\]\.effect: 'Never' is not a taint effect"):
        transform_pod_spec(spec(tolerations=[{"key": "a", "effect": "Never"}]), SchedulingChange(tolerate=(TAINT,)))
    with pytest.raises(ManifestError, match="must be a mapping"):
        transform_pod_spec(spec(affinity=[]), SchedulingChange(prefer=ARM))


def test_all_requests_are_met_at_once_and_told_in_order() -> None:
    found = transform_pod_spec(spec(), SchedulingChange(prefer=ARM, tolerate=(TAINT,)))
    assert found.done == ("tolerates arch=arm64:NoSchedule", "prefers architecture arm64 with weight 100")
    assert [addition.path for addition in found.additions] == [("tolerations",), ("affinity",)]
