"""What a run does when the Kubernetes API does not answer.

The stand-in says what the official provider says; see sandbox/providers/kubernetes.
"""

from __future__ import annotations

import pytest

from sandbox.aws.remote import Remote
from tests.e2e.world import NO_REFRESH, World

pytestmark = pytest.mark.e2e

STACK = "checkout-dev"
UP = ("up", "--yes", "--skip-preview", "--json")


def test_without_the_api_a_run_ends_at_the_refresh_and_changes_of_aws_pass_without_it(platform: World) -> None:
    remote, held = Remote(platform.server.url), platform.held(STACK)
    remote.set_kubernetes_down(3600)
    try:
        said = platform.pulumi(STACK, *UP, expect=1).errors()
        assert "failed to read resource state due to unreachable cluster" in said
        assert "PULUMI_K8S_DELETE_UNREACHABLE" in said
        with platform.made(STACK, "nodeGroups", "graviton", "maxSize", value=8, options=(NO_REFRESH,)) as steps:
            assert {step.what for step in steps} == {"aws:eks/nodeGroup:NodeGroup graviton"}
    finally:
        remote.set_kubernetes_down(0)
    assert platform.held(STACK) == held
    assert platform.preview(STACK) == []
