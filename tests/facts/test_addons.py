import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.addons import add_on, add_ons
from multiarch.facts.taints import Effect, Taint
from multiarch.facts.tolerations import CRITICAL_ADDONS, make_toleration

ARM64 = make_toleration(Taint("arch", "arm64", Effect.NO_SCHEDULE))


def test_the_five_add_ons_of_a_cluster_are_known_in_the_order_of_their_installation() -> None:
    rows = add_ons().values()
    assert [row.name for row in rows if row.before_nodes] == ["vpc-cni", "kube-proxy", "eks-pod-identity-agent"]
    assert [row.name for row in rows if not row.before_nodes] == ["coredns", "aws-ebs-csi-driver"]


def test_corednss_own_tolerations_survive_the_added_one() -> None:
    assert add_on("coredns").configuration(ARM64) == {
        "tolerations": [
            {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
        ]
    }


def test_the_ebs_driver_takes_tolerations_for_its_controller() -> None:
    assert add_on("aws-ebs-csi-driver").configuration(ARM64) == {
        "controller": {
            "tolerations": [
                {"key": "CriticalAddonsOnly", "operator": "Exists"},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"},
            ]
        }
    }


@pytest.mark.parametrize("name", ["eks-pod-identity-agent", "kube-proxy", "vpc-cni"])
def test_a_daemonset_that_tolerates_everything_is_left_alone(name: str) -> None:
    assert add_on(name).components == ()
    assert add_on(name).configuration(ARM64) == {}


@pytest.mark.parametrize("name", add_ons())
def test_without_a_toleration_to_add_nothing_is_configured(name: str) -> None:
    assert add_on(name).configuration() == {}


def test_a_toleration_that_is_there_already_is_not_repeated() -> None:
    tolerations = add_on("coredns").configuration(CRITICAL_ADDONS, ARM64, ARM64)["tolerations"]
    assert isinstance(tolerations, list)
    assert len(tolerations) == 3


def test_an_unknown_add_on_is_an_error_with_the_known_names() -> None:
    with pytest.raises(UnknownFactError, match=r"Did you mean coredns\?"):
        add_on("core-dns")
