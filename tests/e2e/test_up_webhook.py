"""`make up` installs a stack's admission webhook, and an update that turns it off deletes it in a safe order.

The other tests of that stack come later: see tests/lanes.py.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.cluster_records import identities, records
from tests.e2e.conftest import WITH_WEBHOOK
from tests.e2e.order import times
from tests.e2e.world import World

pytestmark = pytest.mark.e2e

NAME = "multiarch-webhook"


def test_it_comes_with_its_objects_and_a_role_that_reads_repositories(platform: World) -> None:
    stack = WITH_WEBHOOK
    found = records(platform, stack)
    webhooks = found["MutatingWebhookConfiguration", f"zz-{NAME}"]["webhooks"]
    assert {row["failurePolicy"] for row in webhooks} == {"Ignore"}
    assert "data" not in found["Secret", f"{NAME}-tls"]
    assert "replicas" not in found["Deployment", NAME]["spec"]
    assert "kubernetes.io/arch=arm64:NoSchedule" in found["ConfigMap", NAME]["data"]["config.yaml"]
    role = identities(platform, stack)[NAME].rpartition("/")[2]
    iam = platform.aws(stack).client("iam")
    (trust,) = iam.get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"]["StringEquals"]["aws:RequestTag/kubernetes-namespace"] == NAME
    policy = iam.get_role_policy(RoleName=role, PolicyName=NAME)["PolicyDocument"]
    assert "arn:aws:ecr:eu-west-3:123456789012:repository/*" in json.dumps(policy)


def test_a_preview_right_after_shows_no_change(platform: World) -> None:
    assert platform.preview(WITH_WEBHOOK) == []


def test_turned_off_its_registration_goes_before_its_pods_and_these_before_their_role(platform: World) -> None:
    stack = WITH_WEBHOOK
    platform.edit(stack, "admissionWebhook", "enabled", value=False)
    found = times(platform.pulumi(stack, "up", "--yes", "--skip-preview", "--json"))
    registration = ("delete", f"kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration zz-{NAME}")
    deployment = ("delete", f"kubernetes:apps/v1:Deployment {NAME}")
    assert found.before(registration, deployment)
    assert found.before(registration, ("delete", f"kubernetes:core/v1:Service {NAME}"))
    for kind in ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "kubernetes:core/v1:ServiceAccount"):
        assert found.before(deployment, ("delete", f"{kind} {NAME}"))
    assert not [kind for kind, name in records(platform, stack) if name.removeprefix("zz-").startswith(NAME)]
