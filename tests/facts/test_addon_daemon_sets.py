import pytest

from multiarch.errors import UnknownFactError
from multiarch.facts.addon_daemon_sets import list_daemons
from multiarch.facts.addons import add_ons
from multiarch.facts.architectures import names_architecture
from multiarch.facts.extra_addons import EXTRA

ROWS = {**add_ons(), **EXTRA}
ALL = [daemon for name in ROWS for daemon in list_daemons(name)]


def test_every_add_on_has_its_daemon_sets_or_none() -> None:
    assert {name: [each.name for each in list_daemons(name)] for name in ROWS} == {
        "amazon-cloudwatch-observability": ["cloudwatch-agent", "fluent-bit"],
        "aws-ebs-csi-driver": ["ebs-csi-node"],
        "aws-efs-csi-driver": ["efs-csi-node"],
        "aws-mountpoint-s3-csi-driver": ["s3-csi-node"],
        "coredns": [],
        "eks-pod-identity-agent": ["eks-pod-identity-agent"],
        "external-dns": [],
        "kube-proxy": ["kube-proxy"],
        "kube-state-metrics": [],
        "metrics-server": [],
        "prometheus-node-exporter": ["prometheus-node-exporter"],
        "vpc-cni": ["aws-node"],
    }
    with pytest.raises(UnknownFactError, match="Unknown DaemonSets of EKS add-on"):
        list_daemons("adot")


def test_one_that_nothing_is_set_for_tolerates_every_taint() -> None:
    without = [name for name, row in ROWS.items() if not any(each.daemon for each in row.components)]
    for name in without:
        assert all(each.pod_spec["tolerations"] == [{"operator": "Exists"}] for each in list_daemons(name))


def test_a_plans_own_configuration_is_harmless_to_all() -> None:
    for name, row in ROWS.items():
        for daemon in list_daemons(name):
            assert {each.path[0] for each in row.components if not each.daemon} <= daemon.harmless


def test_every_row_says_where_it_was_read() -> None:
    assert all(each.source and each.images_source for each in ALL)


@pytest.mark.parametrize(("text", "answer"), [("arm64", True), ("X86_64", True), ("graviton", True), ("arm", False)])
def test_names_of_architectures_are_told_from_other_words(text: str, *, answer: bool) -> None:
    assert names_architecture(text) is answer
