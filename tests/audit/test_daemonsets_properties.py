"""The outcome of generated DaemonSets is what kube-scheduler's rules say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multiarch.audit.daemonset_model import DaemonSet, DaemonSetOutcome
from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint, parse_taint
from multiarch.manifests.selectors import ARCHITECTURE_LABELS
from multiarch.scheduling.tolerations import find_untolerated
from tests.audit.daemons import (
    AMD,
    ARM,
    ARM_TAINT,
    TOLERATION,
    cell,
    daemon,
    profile,
)
from tests.scheduling.manifests import expression, required

KEYS = (*ARCHITECTURE_LABELS, "disk")
VALUES = st.sampled_from(("amd64", "arm64", "ssd"))
EXPRESSIONS = st.one_of(
    st.builds(expression, st.sampled_from(KEYS), st.sampled_from(("In", "NotIn")), VALUES),
    st.builds(expression, st.sampled_from(KEYS), st.sampled_from(("Exists", "DoesNotExist"))),
)
TERMS = st.lists(st.lists(EXPRESSIONS, max_size=2), min_size=1, max_size=3)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2),
        "affinity": TERMS.map(lambda terms: required(*terms)),
        "tolerations": st.lists(
            st.sampled_from((TOLERATION, {"operator": "Exists"}, {"key": "dedicated", "operator": "Exists"})),
            max_size=2,
        ),
    },
)
TAINTS = st.lists(st.sampled_from((ARM_TAINT, "dedicated=db:NoSchedule")), max_size=2, unique=True)


def _labelled(architecture: Architecture, disk: str | None) -> dict[str, str]:
    return {**dict.fromkeys(ARCHITECTURE_LABELS, str(architecture)), **({"disk": disk} if disk else {})}


def _put(made: DaemonSet, labels: Mapping[str, str], taints: list[Taint]) -> bool:
    """By the scheduler's own reading, which is held against the real one elsewhere."""
    return made.spec.affinity.allows(labels) and find_untolerated(made.spec.tolerations, taints) is None


@given(SPECS, TAINTS, st.sampled_from((None, "ssd")), st.sampled_from(Architecture))
def test_the_outcome_is_what_the_scheduler_would_do_here_and_on_the_other_architecture(
    spec: Mapping[str, Any], taints: list[str], disk: str | None, architecture: Architecture
) -> None:
    made, parsed = daemon(**spec), [parse_taint(each) for each in taints]
    other = ARM if architecture is AMD else AMD
    here = _put(made, _labelled(architecture, disk), parsed)
    there = _put(made, _labelled(other, disk), [each for each in parsed if each.key != "arch"])
    own = profile(architecture, *taints, labels=_labelled(architecture, disk))
    found = cell(made, own, architecture)
    assert found.outcome is (
        DaemonSetOutcome.RUNS if here else DaemonSetOutcome.KEPT_OFF if there else DaemonSetOutcome.EXCLUDED
    )
    assert found.finding is (not here and there)
    assert bool(found.reasons) is not here
    assert all(each.effect is Effect.NO_SCHEDULE for each in parsed)
