"""`make up` installs a stack's admission webhook and the CronJob that rebalances; turned off, they go in a safe order.

The other tests of that stack come later: see tests/lanes.py.
"""

from __future__ import annotations

import json

import pytest

from tests.e2e.cluster_records import identities, records
from tests.e2e.conftest import WEBHOOK_IMAGE, WITH_WEBHOOK
from tests.e2e.order import times
from tests.e2e.world import World

pytestmark = pytest.mark.e2e

NAME = "multiarch-webhook"
REBALANCE = "multiarch-rebalance"


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


def test_the_cron_job_comes_with_its_rights_and_the_stack_file(platform: World) -> None:
    stack = WITH_WEBHOOK
    found = records(platform, stack)
    job = found["CronJob", REBALANCE]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = job["containers"]
    assert container["image"] == WEBHOOK_IMAGE
    assert {"--apply", "--namespace=shop"} <= set(container["args"])
    assert container["resources"]["limits"] == {"memory": "1024Mi"}
    assert found["Role", f"{REBALANCE}-evictions"]["metadata"]["namespace"] == "shop"
    assert "nodeGroups" in found["ConfigMap", REBALANCE]["data"][f"Pulumi.{platform.plan(stack).stack}.yaml"]
    assert ("ValidatingAdmissionPolicyBinding", f"{REBALANCE}-nodes") in found
    assert REBALANCE in identities(platform, stack)


def test_a_preview_right_after_shows_no_change(platform: World) -> None:
    assert platform.preview(WITH_WEBHOOK) == []


def test_turned_off_a_registration_goes_before_its_pods_and_these_before_their_role(platform: World) -> None:
    stack = WITH_WEBHOOK
    platform.edit(stack, "admissionWebhook", "enabled", value=False)
    platform.edit(stack, "rebalance", "enabled", value=False)
    found = times(platform.pulumi(stack, "up", "--yes", "--skip-preview", "--json"))
    registration = ("delete", f"kubernetes:admissionregistration.k8s.io/v1:MutatingWebhookConfiguration zz-{NAME}")
    deployment = ("delete", f"kubernetes:apps/v1:Deployment {NAME}")
    assert found.before(registration, deployment)
    assert found.before(registration, ("delete", f"kubernetes:core/v1:Service {NAME}"))
    for kind in ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "kubernetes:core/v1:ServiceAccount"):
        assert found.before(deployment, ("delete", f"{kind} {NAME}"))
    job = ("delete", f"kubernetes:batch/v1:CronJob {REBALANCE}")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        assert found.before(job, ("delete", f"kubernetes:rbac.authorization.k8s.io/v1:{kind} {REBALANCE}"))
    left = [name.removeprefix("zz-") for _, name in records(platform, stack)]
    assert not [name for name in left if name.startswith((NAME, REBALANCE))]
