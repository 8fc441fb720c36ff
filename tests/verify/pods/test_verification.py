"""Containers, registries and nodes' reports joined."""

from __future__ import annotations

import asyncio
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.images.elf import Elf
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.on_node.model import NodeReport, RunningContainer
from multiarch.verify.pods.model import PodVerification, Proof
from multiarch.verify.pods.verification import Reports, list_instances, verify_pods
from tests.images.held import Held
from tests.images.shapes import platform
from tests.verify.pods.made import node, pod, read, status

IMAGE = "example.com/team/image:1"
AMD_ELF, ARM_ELF = Elf(62, 64, True), Elf(183, 64, True)  # noqa: FBT003 (little-endian)
ARM = node("arm", "arm64", provider="aws:///eu-west-1a/i-0a")
AMD = node("amd", "amd64", provider="aws:///eu-west-1a/i-0b")
FARGATE = node("far", "amd64", provider="aws:///eu-west-1a/fargate-ip-10-0-0-1")


class Images(Held):
    """An index for both architectures; ``children`` are its manifests' digests."""

    def __init__(self) -> None:
        super().__init__()
        made = {each: self.image(platform(f"linux/{each}")) for each in ("amd64", "arm64")}
        self.children = {each: str(entry["digest"]) for each, entry in made.items()}
        self.index([entry | {"platform": platform(f"linux/{each}")} for each, entry in made.items()])
        self.image_id = f"example.com/team/image@{self.top}"


def report(*containers: RunningContainer, machine: str = "aarch64") -> NodeReport:
    architecture = Architecture.ARM64 if machine == "aarch64" else Architecture.AMD64
    return NodeReport(machine, architecture, "6.1", "Linux", (), containers=containers)


def process(number: int, elf: Elf | None, **more: Any) -> RunningContainer:
    given: dict[str, Any] = {"image": IMAGE, "config": "", "manifest": "", "executable": "/app"}
    return RunningContainer(f"{number:064x}", elf=elf, **given | more)


def verified(images: Images, *objects: Any, reports: Reports | None = None) -> PodVerification:
    return asyncio.run(verify_pods(images, read(*objects), reports))


def test_the_same_index_is_consistent_everywhere_and_the_nodes_prove_or_refute_it() -> None:
    images = Images()
    objects = (
        ARM,
        AMD,
        pod(status("app", IMAGE, images.image_id, 1), name="a", node="arm"),
        pod(status("app", IMAGE, images.image_id, 2), name="b", node="amd"),
    )
    before = verified(images, *objects)
    assert [each.verdict for each in before.judged] == [Proof.CONSISTENT, Proof.CONSISTENT]
    assert [each.manifest for each in before.judged] == [images.children["arm64"], images.children["amd64"]]
    assert before.nodes_answered is None
    reports = {"i-0a": report(process(1, AMD_ELF)), "i-0b": report(process(2, AMD_ELF), machine="x86_64")}
    after = verified(images, *objects, reports=reports)
    assert [each.verdict for each in after.judged] == [Proof.WRONG, Proof.PROVEN]
    assert after.judged[0].reason == "its process /app is amd64, though the image declares linux/arm64"
    assert (after.nodes_answered, after.notes) == (2, ())


def test_containers_that_the_node_has_no_more_and_nodes_that_do_not_answer_are_said() -> None:
    images = Images()
    silent = InstanceAnswer("i-0b", AnswerStatus.OFFLINE, reason="last seen 3 hours ago", hint="Restart its SSM agent.")
    found = verified(
        images,
        ARM,
        AMD,
        FARGATE,
        pod(status("app", IMAGE, images.image_id, 1), name="a", node="arm"),
        pod(status("app", IMAGE, images.image_id, 2), name="b", node="amd"),
        pod(status("app", IMAGE, images.image_id, 3), name="c", node="far"),
        reports={"i-0a": report(), "i-0b": silent},
    )
    assert {each.verdict for each in found.judged} == {Proof.CONSISTENT}
    assert [each.reason.partition("; ")[2] for each in found.judged] == [
        "its node no longer has this container, which restarted meanwhile",
        "its node did not answer (offline)",
        "its node is not an EC2 instance that SSM can reach",
    ]
    assert [each.settled_by for each in found.judged] == ["verify again", "Restart its SSM agent", ""]
    assert found.nodes_answered == 1
    assert found.notes == ("Not queried through SSM: amd (offline: last seen 3 hours ago). Restart its SSM agent.",)


def test_only_nodes_with_running_containers_are_asked() -> None:
    images = Images()
    ended = {"state": {"terminated": {"reason": "Completed"}}}
    pods = read(
        ARM,
        AMD,
        FARGATE,
        pod(status("app", IMAGE, images.image_id, 1), name="a", node="arm"),
        pod(status("app", IMAGE, images.image_id, 2, **ended), name="b", node="amd"),
        pod(status("app", IMAGE, images.image_id, 3), name="c", node="far"),
    )
    assert list_instances(pods) == ("i-0a",)
