import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.addon_daemon_sets import list_daemons
from multiarch.facts.addons import add_ons
from multiarch.facts.architectures import Architecture, names_architecture

ALL = [daemon for name in add_ons() for daemon in list_daemons(name)]


def test_every_add_on_has_its_daemon_sets_or_none() -> None:
    assert {name: [each.name for each in list_daemons(name)] for name in add_ons()} == {
        "aws-ebs-csi-driver": ["ebs-csi-node"],
        "coredns": [],
        "eks-pod-identity-agent": ["eks-pod-identity-agent"],
        "kube-proxy": ["kube-proxy"],
        "vpc-cni": ["aws-node"],
    }
    with pytest.raises(UnknownFactError, match="Unknown DaemonSets of EKS add-on"):
        list_daemons("adot")


def test_one_that_nothing_is_set_for_tolerates_every_taint() -> None:
    without = [name for name, add_on in add_ons().items() if add_on.toleration_path is None]
    assert len(without) == 3
    for name in without:
        assert [each.pod_spec["tolerations"] for each in list_daemons(name)] == [[{"operator": "Exists"}]]


def test_a_plans_own_configuration_is_harmless_to_all() -> None:
    for name, add_on in add_ons().items():
        for daemon in list_daemons(name):
            assert set((add_on.toleration_path or ())[:1]) <= daemon.harmless


def test_every_row_says_where_it_was_read() -> None:
    assert all(each.source and each.images_source for each in ALL)
    assert all(each.architectures == tuple(Architecture) for each in ALL)


@pytest.mark.parametrize(("text", "answer"), [("arm64", True), ("X86_64", True), ("graviton", True), ("arm", False)])
def test_names_of_architectures_are_told_from_other_words(text: str, *, answer: bool) -> None:
    assert names_architecture(text) is answer
