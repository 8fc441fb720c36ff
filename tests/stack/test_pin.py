"""What is pinned, where it is written, and what is left alone. AWS is a stand-in here; tests/cli queries moto."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from multiarch.errors import MultiarchError, OutsideError
from multiarch.stack.load import load_file
from multiarch.stack.pin import Pin, PinClients, Pins, PinValue, find_pins, remove_releases, write_pins
from multiarch.stack.plan import make_plan
from tests.stack.files import CONFIG, PROJECT, Project
from tests.stack.words import TODAY

OWN_IMAGE, EKS_IMAGE = "ami-00000000000000001", "ami-00000000000000002"
GROUPS = f"""\
    arm:
      instanceTypes: [m7g.large]
    own:
      instanceTypes: [m7i.large]
      ami: {{id: {OWN_IMAGE}}}
    self:
      kind: self-managed
      instanceTypes: [m7g.large]
  multiarch-eks:multiArchitectureGroups:
    both:
      instanceTypes: {{amd64: [m7i.large], arm64: [m7g.large]}}
"""


@dataclass
class FakeAws:
    """Stands in for SSM, EKS and EC2: every image and add-on exists, unless it is named in ``absent``."""

    release: str = "1.35.2-20261101"
    releases: Mapping[str, str] = field(default_factory=dict)
    """Other releases, by a part of the parameter's name."""
    absent: tuple[str, ...] = ()
    of_versions: Mapping[str, Any] = field(default_factory=dict)
    """What else EKS says of an add-on's versions."""
    asked: list[list[str]] = field(default_factory=list)

    def get_parameters(self, *, Names: list[str]) -> Mapping[str, Any]:  # noqa: N803
        self.asked.append(Names)
        missing = [name for name in Names if any(part in name for part in self.absent)]
        found = [{"Name": name, "Value": self._value(name)} for name in Names if name not in missing]
        return {"Parameters": found, "InvalidParameters": missing}

    def _value(self, name: str) -> str:
        if not name.endswith("image_id"):
            return next((release for part, release in self.releases.items() if part in name), self.release)
        old = "1" if "v20260901" in name else "0"
        return f"ami-{'a' if 'arm64' in name else 'b'}{old * 16}"

    def describe_addon_versions(self, *, addonName: str, kubernetesVersion: str) -> Mapping[str, Any]:  # noqa: N803
        def offered(version: str, *, default: bool) -> dict[str, Any]:
            compatible = {"clusterVersion": kubernetesVersion, "defaultVersion": default}
            return {"addonVersion": version, "compatibilities": [compatible], **self.of_versions}

        if addonName in self.absent:
            return {"addons": []}
        versions = [offered("v9.9.9-eksbuild.9", default=False), offered("v1.2.3-eksbuild.1", default=True)]
        return {"addons": [{"addonName": addonName, "addonVersions": versions}]}

    def describe_images(self, *, ImageIds: list[str]) -> Mapping[str, Any]:  # noqa: N803
        owner = "self" if ImageIds == [OWN_IMAGE] else "amazon"
        return {"Images": [{"ImageId": ImageIds[0], "ImageOwnerAlias": owner}]}


def find(project: Project, text: str, aws: FakeAws | None = None, *, upgrade: bool = False) -> Pins:
    project.write(text)
    stack = load_file(project.file)
    plan = make_plan(remove_releases(stack) if upgrade else stack, today=TODAY)
    fake = aws or FakeAws()
    return find_pins(stack, plan, PinClients(fake, fake, fake), upgrade=upgrade)


PLACES = {
    "nodeGroups.web.ami": "ami-b0000000000000000",
    "nodeGroups.arm.ami": "ami-a0000000000000000",
    "nodeGroups.self.ami": "ami-a0000000000000000",
    "multiArchitectureGroups.both.ami.amd64": "ami-b0000000000000000",
    "multiArchitectureGroups.both.ami.arm64": "ami-a0000000000000000",
}
"""The groups of GROUPS that have no image of their own, with the recommended one."""


def test_each_group_is_pinned_by_the_image_of_its_architecture_and_its_release(project: Project) -> None:
    pins = find(project, CONFIG + GROUPS)
    assert {pin.key: pin.new for pin in pins.changes if "addons" not in pin.key} == {
        **{f"{key}.id": image for key, image in PLACES.items()},
        **{f"{key}.release": "1.35.2-20261101" for key in PLACES},
    }
    assert [(kept.key, kept.value) for kept in pins.kept] == [("nodeGroups.own.ami", OWN_IMAGE)]


def test_add_ons_are_pinned_to_eks_default_and_not_to_the_newest(project: Project) -> None:
    pins = find(project, f"{CONFIG}  multiarch-eks:addons: {{ebsCsi: {{enabled: false}}}}\n")
    assert [(pin.key, pin.new) for pin in pins.changes if "addons" in pin.key] == [
        ("addons.vpcCni.version", "v1.2.3-eksbuild.1"),
        ("addons.kubeProxy.version", "v1.2.3-eksbuild.1"),
        ("addons.podIdentityAgent.version", "v1.2.3-eksbuild.1"),
        ("addons.coredns.version", "v1.2.3-eksbuild.1"),
    ]


EXTRA = f"{CONFIG}    arm: {{instanceTypes: [m7g.large]}}\n  multiarch-eks:addons: {{extra: {{adot: {{}}}}}}\n"


def test_an_add_on_that_is_not_known_here_is_pinned_with_what_eks_says_that_it_needs(project: Project) -> None:
    (pin,) = [each for each in find(project, EXTRA).changes if "extra" in each.key]
    assert (pin.key, pin.new, pin.note) == ("addons.extra.adot.version", "v1.2.3-eksbuild.1", "")
    needing = find(project, EXTRA, FakeAws(of_versions={"requiresIamPermissions": True}))
    (pin,) = [each for each in needing.changes if "extra" in each.key]
    assert pin.note == "needs permissions in AWS: write policies or statements"


def test_a_version_without_images_for_the_stacks_nodes_is_not_pinned(project: Project) -> None:
    with pytest.raises(OutsideError, match=r"EKS lists adot v1.2.3-eksbuild.1 for amd64, not for arm64"):
        find(project, EXTRA, FakeAws(of_versions={"architecture": ["amd64"]}))
    # The others are EKS's own business, and a stack of one architecture needs no other.
    amd64 = EXTRA.replace("    arm: {instanceTypes: [m7g.large]}\n", "")
    assert find(project, amd64, FakeAws(of_versions={"architecture": ["amd64"]})).changes


def test_the_written_file_is_pinned_and_keeps_its_comments(project: Project) -> None:
    text = (CONFIG + GROUPS).replace("instanceTypes: [m7i.large]\n", "instanceTypes: [m7i.large] # why\n", 1)
    written = write_pins(text, find(project, text).changes)
    image = 'id: "ami-b0000000000000000" # AL2023_x86_64_STANDARD'
    ami = f'      ami:\n        {image}\n        release: "1.35.2-20261101"\n'
    assert f"instanceTypes: [m7i.large] # why\n{ami}" in written
    assert "\n  multiarch-eks:addons:\n    vpcCni:\n" in written
    again = find(project, written)
    assert again.changes == ()
    assert {kept.reason.partition(";")[0] for kept in again.kept} == {"pinned already"}
    assert not any(
        problem.rule == "ami-not-pinned" for problem in make_plan(load_file(project.file), today=TODAY).warnings
    )


def test_what_is_pinned_stays_unless_an_upgrade_is_asked_for(project: Project) -> None:
    text = write_pins(CONFIG + GROUPS, find(project, CONFIG + GROUPS).changes)
    newer = FakeAws(release="1.35.3-20261115")
    assert find(project, text, newer).changes == ()
    upgraded = find(project, text, newer, upgrade=True)
    assert {pin.key: (pin.old, pin.new) for pin in upgraded.changes if pin.key.endswith("release")} == {
        f"{key}.release": ("1.35.2-20261101", "1.35.3-20261115") for key in PLACES
    }


def test_a_release_of_another_kubernetes_version_does_not_keep_an_upgrade_from_working(project: Project) -> None:
    text = f'{CONFIG}      ami: {{id: {EKS_IMAGE}, release: "1.34.1-20260101"}}\n'
    assert [problem.rule for problem in project.problems(text)] == []
    (image, release, *_) = find(project, text, upgrade=True).changes
    assert (image.key, image.old, image.new) == ("nodeGroups.web.ami.id", EKS_IMAGE, "ami-b0000000000000000")
    assert (release.key, release.old) == ("nodeGroups.web.ami.release", "1.34.1-20260101")


def images(pins: Pins) -> dict[str, tuple[PinValue | None, PinValue]]:
    return {pin.key: (pin.old, pin.new) for pin in pins.changes if ".ami." in pin.key}


def test_a_release_alone_gets_the_image_of_that_release_and_not_the_newest(project: Project) -> None:
    text = f'{CONFIG}      ami: {{release: "1.35.2-20260901"}}\n'
    assert images(find(project, text)) == {"nodeGroups.web.ami.id": (None, "ami-b1111111111111111")}


def test_a_group_whose_bootstrap_is_left_to_eks_is_pinned_by_its_release_alone(project: Project) -> None:
    text = f"{CONFIG}      bootstrap: {{mode: eks}}\n"
    pins = find(project, text)
    assert images(pins) == {"nodeGroups.web.ami.release": (None, "1.35.2-20261101")}
    written = write_pins(text, pins.changes)
    assert images(find(project, written)) == {}
    newer = FakeAws(release="1.35.3-20261115")
    assert list(images(find(project, written, newer, upgrade=True))) == ["nodeGroups.web.ami.release"]


def test_an_image_type_that_is_written_decides_which_image_is_pinned(project: Project) -> None:
    text = CONFIG.replace("[m7i.large]", "[m7i.large]\n      amiType: BOTTLEROCKET_x86_64_FIPS")
    aws = FakeAws(release="1.62.1-0d4e8a1c")
    written = write_pins(text, find(project, text, aws).changes)
    assert "/aws/service/bottlerocket/aws-k8s-1.35-fips/x86_64/latest/image_id" in aws.asked[0]
    assert find(project, written, aws).changes == ()


def test_an_upgrade_replaces_eks_images_and_leaves_own_ones(project: Project) -> None:
    text = CONFIG + GROUPS.replace("[m7g.large]", f"[m7g.large]\n      ami: {{id: {EKS_IMAGE}}}", 2)
    pins = find(project, text, upgrade=True)
    for group in ("arm", "self"):
        assert images(pins)[f"nodeGroups.{group}.ami.id"] == (EKS_IMAGE, "ami-a0000000000000000")
    assert [(kept.key, kept.reason) for kept in pins.kept if kept.key == "nodeGroups.own.ami"] == [
        ("nodeGroups.own.ami", "an image of your own")
    ]


def test_parameters_are_asked_for_ten_at_a_time(project: Project) -> None:
    families = [
        ("AL2023", "m7i.large"),
        ("AL2023", "m7g.large"),
        ("Bottlerocket", "m7i.large"),
        ("Bottlerocket", "m7g.large"),
    ]
    families += [("AL2023", "g5.xlarge"), ("Bottlerocket", "g5.xlarge"), ("AL2023", "g5g.xlarge")]
    groups = "".join(
        f"    g{i}: {{kind: self-managed, amiFamily: {family}, instanceTypes: [{type_}]}}\n"
        for i, (family, type_) in enumerate(families)
    )
    aws = FakeAws()
    find(project, CONFIG + groups, aws)
    assert [len(names) for names in aws.asked] == [10, 4]
    assert sorted({name for names in aws.asked for name in names}) == [name for names in aws.asked for name in names]


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ("amazon-linux-2023/arm64", "AWS publishes no parameter /aws/service/eks/optimized-ami/1.35/"),
        ("coredns", "EKS names no default version of coredns for Kubernetes 1.35."),
    ],
)
def test_what_aws_does_not_publish_is_an_error_and_not_a_guess(project: Project, absent: str, message: str) -> None:
    with pytest.raises(OutsideError, match=message.replace(".", r"\.")):
        find(project, CONFIG + GROUPS, FakeAws(absent=(absent,)))


def test_groups_that_share_a_mapping_are_not_pinned(project: Project) -> None:
    text = CONFIG + (
        "    one:\n      kind: self-managed\n      instanceTypes: [m7i.large]\n      ami: &ami {}\n"
        "    two:\n      kind: self-managed\n      instanceTypes: [m7g.large]\n      ami: *ami\n"
    )
    pins = find(project, text)
    with pytest.raises(MultiarchError, match="other places share"):
        write_pins(text, pins.changes)


def test_a_group_of_the_organisations_is_pinned_in_the_stacks_own_file(project: Project) -> None:
    base = "      nodeGroups:\n        base: {instanceTypes: [m7i.large]}\n"
    settings = f"{PROJECT}config:\n  multiarch-eks:defaults:\n    value:\n{base}"
    project.write(CONFIG, project=settings)
    stack = load_file(project.file)
    fake = FakeAws()
    pins = find_pins(stack, make_plan(stack, today=TODAY), PinClients(fake, fake, fake), upgrade=False)
    written = write_pins(CONFIG, pins.changes)
    assert '    base:\n      ami:\n        id: "ami-b' in written
    assert project.load(written, project=settings).spec.node_groups["base"].instance_types == ["m7i.large"]


def karpenter(project: Project, words: str, aws: FakeAws | None = None, *, upgrade: bool = False) -> Pins:
    """Pin a stack with Karpenter; all but its image is omitted from the answer."""
    pins = find(project, f"{CONFIG}  multiarch-eks:autoscaling: {{use: karpenter{words}}}\n", aws, upgrade=upgrade)
    return Pins(
        tuple(pin for pin in pins.changes if "amiAlias" in pin.key),
        tuple(kept for kept in pins.kept if "amiAlias" in kept.key),
    )


ALIAS = "autoscaling.karpenter.amiAlias"


@pytest.mark.parametrize(("words", "old"), [("", None), (", karpenter: {amiAlias: al2023@latest}", "al2023@latest")])
def test_karpenters_image_is_pinned_by_an_alias_of_the_recommended_release(
    project: Project, words: str, old: str | None
) -> None:
    assert karpenter(project, words).changes == (Pin(ALIAS, old, "al2023@v20261101"),)


def test_bottlerockets_alias_is_its_version_without_the_commit(project: Project) -> None:
    aws = FakeAws(releases={"bottlerocket": "1.62.1-0d4e8a1c"})
    words = ", karpenter: {amiAlias: bottlerocket@latest, nodePools: {gpu: {families: [g5, g5g, m7g]}}}"
    assert [pin.new for pin in karpenter(project, words, aws).changes] == ["bottlerocket@v1.62.1"]
    assert aws.asked[-1] == [
        "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.62.1/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.62.1/image_id",
        "/aws/service/bottlerocket/aws-k8s-1.35/arm64/1.62.1/image_id",
    ]


def test_a_pinned_alias_is_renewed_by_an_upgrade_alone_and_keeps_its_family(project: Project) -> None:
    words = ", karpenter: {amiAlias: bottlerocket@v1.50.0}"
    aws = FakeAws(releases={"bottlerocket": "1.62.1-0d4e8a1c"})
    assert [kept.value for kept in karpenter(project, words, aws).kept] == ["bottlerocket@v1.50.0"]
    (pin,) = karpenter(project, words, aws, upgrade=True).changes
    assert (pin.old, pin.new) == ("bottlerocket@v1.50.0", "bottlerocket@v1.62.1")
    newest = ", karpenter: {amiAlias: bottlerocket@v1.62.1}"
    assert [kept.reason for kept in karpenter(project, newest, aws, upgrade=True).kept] == ["is the recommended one"]


@pytest.mark.parametrize(
    ("aws", "message"),
    [
        (
            FakeAws(releases={"arm64": "1.35.3-20261115"}),
            "al2023@v20261115 for AL2023_ARM_64_STANDARD, al2023@v20261101 for AL2023_x86_64_STANDARD",
        ),
        (
            FakeAws(absent=("amazon-eks-node-al2023-arm64",)),
            "arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20261101/image_id",
        ),
        (FakeAws(releases={"arm64": "1.35.3"}), "release can't be read"),
    ],
)
def test_an_alias_that_would_leave_an_architecture_without_image_is_not_written(
    project: Project, aws: FakeAws, message: str
) -> None:
    with pytest.raises(OutsideError, match=re.escape(message)):
        karpenter(project, "", aws)
