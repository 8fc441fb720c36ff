from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.images.elf import Elf
from multiarch.images.model import EntryKind, ImageKind, Inspected, Platform, PlatformEntry, parse_platform
from multiarch.observed.nodes import ObservedNode
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from multiarch.registry.reference import parse_reference
from multiarch.verify.on_node.model import RunningContainer
from multiarch.verify.pods.model import DigestKind, Judged, PodContainer, Proof, RegistryDigest, StartFailure
from multiarch.verify.pods.verdict import ON_NODE, explain_not_on_node, judge_by_registry, judge_on_node
from tests.verify.pods.made import INDEX, MANIFEST, container, host

REFERENCE = parse_reference("example.com/team/image:1")
AMD_ELF, ARM_ELF, ARM_32 = Elf(62, 64, True), Elf(183, 64, True), Elf(40, 32, True)  # noqa: FBT003 (little-endian)
PLATFORMS = ("linux/amd64", "linux/arm64", "linux/arm/v7", "linux/s390x", "windows/amd64", "linux/amd64/v3")


def index(*platforms: str) -> RegistryDigest:
    entries = tuple(
        PlatformEntry(EntryKind.IMAGE, parse_platform(each), MANIFEST[:-1] + str(at), 7, OCI_MANIFEST)
        for at, each in enumerate(platforms)
    )
    return RegistryDigest(DigestKind.INDEX, INDEX, Inspected(REFERENCE, ImageKind.INDEX, OCI_INDEX, INDEX, 9, entries))


def single(platform: str | None) -> RegistryDigest:
    said = None if platform is None else parse_platform(platform)
    reason = "" if said else "its config has no architecture"
    return RegistryDigest(DigestKind.MANIFEST, MANIFEST, platform=said, reason=reason)


UNKNOWN = RegistryDigest(DigestKind.UNKNOWN, INDEX, reason="example.com: denied", settled_by="Log in")


@pytest.mark.parametrize(
    ("node", "digest", "proof", "reason"),
    [
        ("arm64", index("linux/amd64", "linux/arm64"), Proof.CONSISTENT, "index has linux/arm64"),
        ("arm64", index("linux/amd64"), Proof.WRONG, "index has linux/amd64, but not linux/arm64"),
        ("amd64", index("linux/amd64/v3"), Proof.CANNOT_TELL, "only linux/amd64/v3, which does not run on every"),
        ("arm64", single("linux/arm64"), Proof.PROVEN, "its config is linux/arm64"),
        ("arm64", single("linux/amd64"), Proof.WRONG, "its config is linux/amd64, and the node is arm64"),
        ("arm64", single("windows/arm64"), Proof.WRONG, "its config is windows/arm64, and the node is arm64"),
        ("arm64", single(None), Proof.CANNOT_TELL, "its config has no architecture"),
        ("arm64", UNKNOWN, Proof.CANNOT_TELL, "example.com: denied"),
        ("s390x", single("linux/s390x"), Proof.CANNOT_TELL, "node arm is s390x; only amd64 and arm64"),
        ("", single("linux/arm64"), Proof.CANNOT_TELL, "node arm reports no architecture"),
    ],
)
def test_the_registry_and_the_node_make_the_verdict(
    node: str, digest: RegistryDigest, proof: Proof, reason: str
) -> None:
    found = judge_by_registry(container(INDEX), host(node), digest)
    assert found.verdict is proof
    assert found.reason.startswith(reason)
    assert (found.digest_kind, found.digest) == (digest.kind, digest.digest)


def test_an_index_names_the_manifest_that_must_run_and_the_node_settles_it() -> None:
    found = judge_by_registry(container(INDEX), host(), index("linux/amd64", "linux/arm64"))
    assert (found.manifest, found.settled_by) == (MANIFEST[:-1] + "1", ON_NODE)
    ended = judge_by_registry(container(INDEX, running=False, state="Completed"), host(), index("linux/arm64"))
    assert (ended.verdict, ended.settled_by) == (Proof.CONSISTENT, "")


def test_what_can_t_be_told_says_what_would_settle_it() -> None:
    assert judge_by_registry(container(INDEX), host(), UNKNOWN).settled_by == "Log in, or --on-node"
    missing = judge_by_registry(container(INDEX), None, index("linux/arm64"))
    assert missing.reason == "node arm was not read, so its architecture is unknown"
    assert missing.settled_by == "read the nodes too: kubectl get pods,nodes -A"
    windows = judge_by_registry(container(INDEX), host("amd64", operating_system="windows"), index("linux/amd64"))
    assert (windows.verdict, windows.reason) == (
        Proof.CANNOT_TELL,
        "node arm runs windows; only Linux nodes are verified",
    )


def test_an_image_that_the_node_found_no_platform_in_is_wrong() -> None:
    waiting = container("", running=False, state="ImagePullBackOff", failure=StartFailure.NO_PLATFORM)
    found = judge_by_registry(waiting, host(), RegistryDigest(DigestKind.UNKNOWN))
    assert (found.verdict, found.reason) == (
        Proof.WRONG,
        'ImagePullBackOff: the node found no linux/arm64 in the image ("no match for platform")',
    )


def test_an_exec_format_error_makes_a_fitting_image_doubtful_and_a_wrong_one_worse() -> None:
    failing = container(INDEX, running=False, state="CrashLoopBackOff", failure=StartFailure.EXEC_FORMAT)
    wrong = judge_by_registry(failing, host(), index("linux/amd64"))
    assert (wrong.verdict, wrong.reason) == (
        Proof.WRONG,
        "index has linux/amd64, but not linux/arm64; it fails with exec format error",
    )
    for digest in (index("linux/arm64"), single("linux/arm64")):
        doubtful = judge_by_registry(failing, host(), digest)
        assert doubtful.verdict is Proof.CANNOT_TELL
        assert "its program is not arm64, or a script without #!" in doubtful.reason
        assert doubtful.settled_by == "multiarch image verify example.com/team/image:1 --platform linux/arm64"


@pytest.mark.parametrize(
    ("more", "digest", "proof", "reason"),
    [
        ({}, index("linux/arm64"), Proof.CANNOT_TELL, "Error: its last run ended with exit code 255, and"),
        ({}, single("linux/arm64"), Proof.CANNOT_TELL, "Error: its last run ended with exit code 255, and"),
        ({}, index("linux/amd64"), Proof.WRONG, "index has linux/amd64, but not linux/arm64; Error: its last"),
        (
            {"log_read": True},
            index("linux/arm64"),
            Proof.CONSISTENT,
            "index has linux/arm64; Error: its last run ended with exit code 255, and its log does not say",
        ),
        (
            {"running": True, "state": "running"},
            index("linux/arm64"),
            Proof.CONSISTENT,
            "index has linux/arm64; its last run ended with exit code 255, and its log was not read",
        ),
    ],
)
def test_a_container_that_failed_is_never_consistent_without_a_word(
    more: dict[str, Any], digest: RegistryDigest, proof: Proof, reason: str
) -> None:
    failed = container(INDEX, **{"running": False, "state": "Error", "exit_code": 255, **more})
    found = judge_by_registry(failed, host(), digest)
    assert found.verdict is proof
    assert found.reason.startswith(reason)
    assert ("kubectl logs" in found.settled_by) is (proof is Proof.CANNOT_TELL)


def held(**more: Any) -> RunningContainer:
    given: dict[str, Any] = {
        "container_id": "1" * 64,
        "image": "x",
        "config": "",
        "manifest": "",
        "executable": "/app",
    }
    return RunningContainer(**given | more)


@pytest.mark.parametrize(
    ("digest", "process", "proof", "reason"),
    [
        (index("linux/arm64"), held(elf=ARM_ELF), Proof.PROVEN, "its process /app is arm64"),
        (UNKNOWN, held(elf=ARM_ELF), Proof.PROVEN, "its process /app is arm64"),
        (
            index("linux/arm64"),
            held(elf=AMD_ELF),
            Proof.WRONG,
            "its process /app is amd64, though the image declares linux/arm64",
        ),
        (
            single("linux/arm64"),
            held(elf=AMD_ELF, emulator="qemu-x86_64"),
            Proof.WRONG,
            "its process /app is amd64, run by qemu-x86_64, though the image declares linux/arm64",
        ),
        (UNKNOWN, held(elf=ARM_32), Proof.WRONG, "its process /app is arm, 32-bit, and the node is arm64"),
        (
            single("linux/amd64"),
            held(elf=AMD_ELF, emulator="qemu-x86_64"),
            Proof.WRONG,
            "its process /app is amd64, run by qemu-x86_64, and the node is arm64",
        ),
        (
            single("linux/amd64"),
            held(elf=ARM_ELF),
            Proof.WRONG,
            "its config is linux/amd64, and the node is arm64; its process /app is arm64",
        ),
        (
            index("linux/arm64"),
            held(elf=ARM_32),
            Proof.CONSISTENT,
            "index has linux/arm64; its process /app is arm, 32-bit, which this arm64 node runs",
        ),
        (
            index("linux/arm64"),
            held(elf=ARM_32, emulator="qemu-arm"),
            Proof.WRONG,
            "its process /app is arm, 32-bit, run by qemu-arm, though the image declares linux/arm64",
        ),
        # A node that is emulated as a whole runs its own architecture through an emulator.
        (
            index("linux/arm64"),
            held(elf=ARM_ELF, emulator="qemu-aarch64"),
            Proof.PROVEN,
            "its process /app is arm64, run by qemu-aarch64",
        ),
        (index("linux/arm64"), held(emulator="qemu-x86_64"), Proof.WRONG, "emulated by qemu-x86_64"),
        (
            index("linux/arm64"),
            held(emulator="qemu-aarch64-static", fault="it has ended"),
            Proof.CONSISTENT,
            "index has linux/arm64; the node could not read its process: it has ended",
        ),
        (
            index("linux/arm64"),
            held(manifest=MANIFEST[:-1] + "0", fault="no permission"),
            Proof.PROVEN,
            "the node holds the index's arm64 manifest; the node could not read its process: no permission",
        ),
        (
            index("linux/arm64"),
            held(),
            Proof.CONSISTENT,
            "index has linux/arm64; the node could not read its process",
        ),
    ],
)
def test_the_process_settles_it(digest: RegistryDigest, process: RunningContainer, proof: Proof, reason: str) -> None:
    found = judge_on_node(judge_by_registry(container(INDEX), host(), digest), process)
    assert (found.verdict, found.reason, found.settled_by) == (proof, reason, "")


def test_a_node_that_did_not_answer_leaves_the_verdict_and_says_so() -> None:
    judged = judge_by_registry(container(INDEX), host(), index("linux/arm64"))
    found = explain_not_on_node(judged, "its node did not answer (offline)", "restart the SSM agent")
    assert (found.verdict, found.settled_by) == (Proof.CONSISTENT, "restart the SSM agent")
    assert found.reason == "index has linux/arm64; its node did not answer (offline)"
    wrong = judge_by_registry(container(INDEX), host(), index("linux/amd64"))
    assert explain_not_on_node(wrong, "its node did not answer (offline)") == wrong
    unknown = explain_not_on_node(
        judge_by_registry(container(INDEX), host(), UNKNOWN), "its node did not answer (offline)"
    )
    assert unknown.settled_by == "Log in"
    for hint in ("Log in, wait, or use a mirror", "Try again later"):
        unread = judge_by_registry(container(INDEX), host(), replace(UNKNOWN, settled_by=hint))
        assert explain_not_on_node(unread, "its node did not answer (offline)").settled_by == hint
    proven = judge_by_registry(container(MANIFEST), host(), single("linux/arm64"))
    assert explain_not_on_node(proven, "anything") == proven


digests = st.one_of(
    st.lists(st.sampled_from(PLATFORMS), max_size=4).map(lambda each: index(*each)),
    st.sampled_from([*PLATFORMS, None]).map(single),
    st.just(UNKNOWN),
)
containers = st.builds(
    container,
    st.just(INDEX),
    running=st.booleans(),
    failure=st.sampled_from([None, StartFailure.EXEC_FORMAT]),
)
nodes = st.one_of(st.none(), st.builds(host, st.sampled_from(["amd64", "arm64", "s390x", ""])))
processes = st.builds(
    held,
    elf=st.sampled_from([None, AMD_ELF, ARM_ELF, ARM_32]),
    emulator=st.sampled_from(["", "qemu-aarch64", "qemu-x86_64", "odd"]),
    manifest=st.sampled_from(["", MANIFEST, MANIFEST[:-1] + "0"]),
)


@given(containers, nodes, digests, st.none() | processes)
def test_no_verdict_is_without_its_reason_and_only_evidence_proves(
    made: PodContainer, node: ObservedNode | None, digest: RegistryDigest, process: RunningContainer | None
) -> None:
    judged: Judged = judge_by_registry(made, node, digest)
    found = judged if process is None else judge_on_node(judged, process)
    assert found.reason
    if found.verdict in (Proof.PROVEN, Proof.WRONG):
        assert found.settled_by == ""
    if found.verdict is Proof.PROVEN:
        assert node is not None
        native = process is not None and process.elf is not None and process.elf.architecture is node.known
        holds = process is not None and bool(process.manifest) and digest.kind is DigestKind.INDEX
        assert native or holds or (digest.platform is not None and _is(digest.platform, node.known))
    if process is not None and process.elf is not None and node is not None and node.known is not None:
        other = process.elf.architecture is not node.known
        # An arm64 node runs programs of the 32-bit architecture too, which an image for linux/arm64 may hold.
        older = process.elf == ARM_32 and node.known is Architecture.ARM64 and not process.emulator
        declared = older and found.verdict in (Proof.PROVEN, Proof.CONSISTENT)
        assert (found.verdict is Proof.WRONG) >= (other and not declared)


def _is(platform: Platform, architecture: Architecture | None) -> bool:
    return platform.architecture == architecture
