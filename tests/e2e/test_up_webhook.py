"""`make up` installs a stack's admission webhook and the CronJob that rebalances; turned off, they go in a safe order.

The other tests of that stack come later: see tests/lanes.py.
"""

from __future__ import annotations

import json

import pytest

import multiarch
from tests.e2e.cluster_records import identities, records, releases
from tests.e2e.conftest import WEBHOOK_IMAGE, WITH_WEBHOOK
from tests.e2e.order import times
from tests.e2e.world import World

pytestmark = pytest.mark.e2e

NAME = "multiarch-webhook"
REBALANCE = "multiarch-rebalance"


def test_it_comes_as_a_release_with_a_role_that_reads_repositories(platform: World) -> None:
    stack = WITH_WEBHOOK
    release = releases(platform, stack)[NAME]
    assert (release["chart"], release["version"]) == (f"charts/{NAME}", multiarch.__version__)
    assert release["values"]["image"] == WEBHOOK_IMAGE
    assert release["values"]["configuration"]["taints"] == ["kubernetes.io/arch=arm64:NoSchedule"]
    assert "pod-security.kubernetes.io/enforce" in records(platform, stack)["Namespace", NAME]["metadata"]["labels"]
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


def test_turned_off_a_release_goes_before_its_role_and_its_namespace(platform: World) -> None:
    stack = WITH_WEBHOOK
    platform.edit(stack, "admissionWebhook", "enabled", value=False)
    platform.edit(stack, "rebalance", "enabled", value=False)
    found = times(platform.pulumi(stack, "up", "--yes", "--skip-preview", "--json"))
    release = ("delete", f"kubernetes:helm.sh/v3:Release {NAME}")
    for kind in ("aws:eks/podIdentityAssociation:PodIdentityAssociation", "kubernetes:core/v1:Namespace"):
        assert found.before(release, ("delete", f"{kind} {NAME}"))
    job = ("delete", f"kubernetes:batch/v1:CronJob {REBALANCE}")
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        assert found.before(job, ("delete", f"kubernetes:rbac.authorization.k8s.io/v1:{kind} {REBALANCE}"))
    assert not [name for _, name in records(platform, stack) if name.startswith((NAME, REBALANCE))]
