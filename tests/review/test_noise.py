"""Which changes are omitted, and that nothing is omitted that matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from multiarch.review import noise
from multiarch.review.previews.reading import read_previews
from tests.review.engine_text import digest, step

GROUP, TAG, ROLE = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/tag:Tag", "aws:iam/role:Role"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
PARENT = "urn:pulumi:checkout-dev::multiarch-eks::multiarch-eks:components:NodeGroup::api"


def counts(*steps: Any) -> tuple[int, dict[str, int]]:
    (preview,) = read_previews(digest(*steps), "-")
    others, omitted = noise.list_omitted(preview.steps, frozenset())
    return len(others), {found.name: count for found, count in omitted}


def update(token: str, old: Mapping[str, Any], new: Mapping[str, Any], *paths: str, **more: Any) -> dict[str, Any]:
    return step("update", token, "it", old, new, dict.fromkeys(paths, "update"), **more)


TAGGED = {"tags": {"team": "a"}, "tagsAll": {"team": "a"}}
RETAGGED = {"tags": {"team": "b"}, "tagsAll": {"team": "b"}}


@pytest.mark.parametrize(
    ("changed", "filter_"),
    [
        (update(ROLE, TAGGED, RETAGGED, "tags.team", "tagsAll.team"), "tags-only"),
        (update(GROUP, {"scalingConfig": {}}, {"scalingConfig": {}}, "scalingConfig.desiredSize"), "desired-size"),
        (update(ROLE, {"name": "a"}, {"name": "a"}, "uniqueId"), "computed-values"),
        (update(DEPLOYMENT, {"metadata": {}}, {"metadata": {}}, "metadata.resourceVersion"), "status-only"),
        (step("create", "multiarch-eks:components:NodeGroup", "api", None, {}), "components"),
    ],
)
def test_noise_is_counted_by_its_filter(changed: dict[str, Any], filter_: str) -> None:
    assert counts(changed) == (0, {filter_: 1})


@pytest.mark.parametrize(
    "changed",
    [
        update(ROLE, {"tags": {"kubernetes.io/cluster/a": "x"}}, {"tags": {}}, 'tags["kubernetes.io/cluster/a"]'),
        update(
            GROUP, {"scalingConfig": {}}, {"scalingConfig": {}}, "scalingConfig.desiredSize", "scalingConfig.maxSize"
        ),
        update(ROLE, {"p": "x"}, {"p": "y"}, "p"),
        update(DEPLOYMENT, {"metadata": {}}, {"metadata": {}}, 'metadata.annotations["eks.amazonaws.com/role-arn"]'),
        update("pulumi:providers:aws", {"region": "a"}, {"region": "b"}, "region"),
        step("replace", ROLE, "it", {"tags": {}}, {"tags": {}}, {"tags": "update-replace"}),
        step("create", TAG, "api-tag", None, {}),
        update(GROUP, {"scalingConfig": {"desiredSize": 9}}, {"scalingConfig": {}}, "scalingConfig.desiredSize"),
        update(ROLE, {}, {}),
    ],
)
def test_what_matters_stays(changed: dict[str, Any]) -> None:
    assert counts(changed) == (1, {})


def test_tags_follow_the_group_below_the_same_parent() -> None:
    group = step("replace", GROUP, "api", {"a": 1}, {"a": 2}, {"a": "update-replace"}, parent=PARENT)
    tag = step("replace", TAG, "api-tag", {"b": 1}, {"b": 2}, {"b": "update-replace"}, parent=PARENT)
    elsewhere = step("replace", TAG, "other-tag", {"b": 1}, {"b": 2}, {"b": "update-replace"}, parent=f"{PARENT}-2")
    assert counts(group, tag, elsewhere) == (2, {"tags-follow-group": 1})


def test_what_a_finding_reports_is_never_omitted() -> None:
    (preview,) = read_previews(digest(update(ROLE, TAGGED, RETAGGED, "tags.team")), "-")
    assert noise.list_omitted(preview.steps, {preview.steps[0].urn}) == ([], [])
