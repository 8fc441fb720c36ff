from typing import Any

import pytest

from multiarch.facts.taints import Effect, Taint, parse_taint
from multiarch.facts.tolerations import COMPARISON_GATE, Toleration, make_toleration
from multiarch.manifests.values import ManifestError
from multiarch.scheduling.tolerations import find_untolerated
from tests.scheduling.manifests import pod

ARM64 = parse_taint("arch=arm64:NoSchedule")


def tolerations(*written: dict[str, Any]) -> tuple[Toleration, ...]:
    return pod(tolerations=list(written)).spec.tolerations


# toleration, taint, tolerated: https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/
RULES = [
    ({"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}, "arch=arm64:NoSchedule", True),
    ({"key": "arch", "operator": "", "value": "arm64"}, "arch=arm64:NoSchedule", True),
    ({"key": "arch", "operator": "Equal", "value": "amd64"}, "arch=arm64:NoSchedule", False),
    ({"key": "arch", "operator": "Equal"}, "arch:NoSchedule", True),
    ({"key": "Arch", "operator": "Exists"}, "arch=arm64:NoSchedule", False),
    ({"key": "arch", "operator": "Exists"}, "arch=arm64:NoSchedule", True),
    ({"key": "arch", "operator": "Exists"}, "arch=arm64:NoExecute", True),
    ({"key": "arch", "operator": "Exists", "effect": "NoSchedule"}, "arch=arm64:NoExecute", False),
    ({"operator": "Exists"}, "arch=arm64:NoSchedule", True),
    ({"operator": "Exists", "effect": "NoExecute"}, "arch=arm64:NoSchedule", False),
    ({"key": "arch", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}, "arch:NoExecute", True),
    ({"key": "level", "operator": "Gt", "value": "5"}, "level=7:NoSchedule", False),
]


@pytest.mark.parametrize(("written", "taint", "tolerated"), RULES)
def test_a_toleration_tolerates_a_taint_by_kubernetes_rules(
    written: dict[str, Any], taint: str, *, tolerated: bool
) -> None:
    (toleration,) = tolerations(written)
    assert toleration.tolerates(parse_taint(taint)) is tolerated


def test_a_taint_of_every_effect_but_prefer_no_schedule_keeps_off() -> None:
    assert find_untolerated((), [parse_taint("a:PreferNoSchedule")]) is None
    assert find_untolerated((), [parse_taint("a:NoExecute")]) == parse_taint("a:NoExecute")


TAINTS = [parse_taint(f"{key}{value}:{effect}") for key in "ab" for value in ("", "=1", "=2") for effect in Effect]


@pytest.mark.parametrize("taint", TAINTS, ids=str)
def test_the_toleration_for_a_taint_matches_that_taint_and_no_other(taint: Taint) -> None:
    written = make_toleration(taint).as_dict()
    (read,) = tolerations(dict(written))
    assert [each for each in TAINTS if read.tolerates(each)] == [taint]
    assert ("value" in written) is bool(taint.value)


def test_a_numeric_comparison_says_that_it_is_not_judged() -> None:
    (toleration,) = tolerations({"key": "level", "operator": "Gt", "value": "5"})
    assert toleration.unsupported is not None
    assert COMPARISON_GATE in toleration.unsupported
    assert tolerations({"key": "level", "operator": "Exists"})[0].unsupported is None


@pytest.mark.parametrize(
    ("written", "path", "words"),
    [
        ({"key": "a", "operator": "In", "value": "x"}, "operator", "'In' is not an operator of a toleration"),
        ({"operator": "Equal", "value": "x"}, "operator", "without a key the operator must be Exists"),
        ({"key": "a", "operator": "Exists", "value": "x"}, "value", "Exists takes no value"),
        ({"key": "a", "operator": "Exists", "effect": "NO_SCHEDULE"}, "effect", "'NO_SCHEDULE' is not a taint effect"),
        ({"key": "a", "value": True}, "value", "must be a string, not True"),
        ({"key": "a", "operator": "Exists", "tolerationSeconds": 5}, "effect", "needs the effect NoExecute"),
    ],
)
def test_a_toleration_that_the_api_server_rejects_is_rejected(written: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words) as caught:
        tolerations({"key": "fine", "operator": "Exists"}, written)
    assert caught.value.path == f"spec.tolerations[1].{path}"
