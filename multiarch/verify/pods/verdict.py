"""The verdict on a container, from its node, what a registry says of its digest, and what its node holds: pure."""

from __future__ import annotations

from dataclasses import replace

from multiarch.facts.architectures import Architecture, normalise_platform
from multiarch.images.elf import Elf
from multiarch.images.model import LINUX, Judgement, Platform, Verdict
from multiarch.images.verdict import judge_image
from multiarch.observed.nodes import ObservedNode
from multiarch.verify.on_node.model import RunningContainer
from multiarch.verify.pods.model import DigestKind, Judged, PodContainer, Proof, RegistryDigest, StartFailure

ON_NODE = "--on-node"
_LOG = f"look for {StartFailure.EXEC_FORMAT} in kubectl logs, or run it on the live cluster with get on pods/log"
_OR = ", or "
_PROOFS = {
    Verdict.SUPPORTED: Proof.CONSISTENT,
    Verdict.UNSUPPORTED: Proof.WRONG,
    Verdict.UNKNOWN: Proof.CANNOT_TELL,
}


_32_BIT = {Architecture.AMD64: 3, Architecture.ARM64: 40}
"""ELF machines (386, arm) of 32-bit programs that these nodes run without an emulator, if their kernel allows it."""


def judge_by_registry(container: PodContainer, node: ObservedNode | None, digest: RegistryDigest) -> Judged:
    """Judge a container by what the API server and the registry say."""
    architecture = None if node is None else node.known
    if node is None or architecture is None or node.operating_system != LINUX:
        reason, settled_by = _no_node(container, node)
        return Judged(container, node, Proof.CANNOT_TELL, reason, digest.kind, digest.digest, settled_by)
    found = Judged(container, node, Proof.CANNOT_TELL, "", digest.kind, digest.digest)
    if not container.image_id:
        return replace(found, verdict=Proof.WRONG, reason=_not_pulled(container, architecture))
    if digest.kind is DigestKind.INDEX and digest.inspected is not None:
        found = _of_index(found, judge_image(digest.inspected, architecture))
    elif digest.platform is not None:
        found = _of_platform(found, digest.platform, architecture)
    else:
        found = replace(found, reason=digest.reason, settled_by=_settled_by(container, digest.settled_by))
    if container.failure is StartFailure.EXEC_FORMAT:
        return _failed(found, architecture)
    return _ended(found) if container.exit_code else found


def judge_on_node(judged: Judged, held: RunningContainer) -> Judged:
    """Add what the node says of the container's process and image."""
    architecture = None if judged.host is None else judged.host.known
    found = replace(
        judged,
        manifest=held.manifest or judged.manifest,
        process=held.executable,
        machine="" if held.elf is None else str(held.elf),
        emulator=held.emulator,
    )
    if architecture is None:
        return found
    if held.elf is not None:
        return _of_process(found, held.elf, architecture)
    if held.emulator and _emulated(held.emulator) != architecture:
        return replace(found, verdict=Proof.WRONG, reason=f"emulated by {held.emulator}", settled_by="")
    why = f"the node could not read its process{f': {held.fault}' if held.fault else ''}"
    of_index = judged.verdict is Proof.CONSISTENT and judged.digest_kind is DigestKind.INDEX
    if of_index and held.manifest and held.manifest == judged.manifest:
        reason = f"the node holds the index's {architecture} manifest; {why}"
        return replace(found, verdict=Proof.PROVEN, reason=reason, settled_by="")
    return replace(found, reason=f"{found.reason}; {why}", settled_by="")


def _emulated(emulator: str) -> str:
    """Return the architecture that an emulator runs: ``arm64`` for ``qemu-aarch64-static``."""
    return normalise_platform(emulator.removesuffix("-static").rpartition("-")[2], "")[0]


def explain_not_on_node(judged: Judged, reason: str, hint: str = "") -> Judged:
    """Say why the node could not settle what is open. A verdict that is settled stays as it is."""
    if judged.verdict in (Proof.PROVEN, Proof.WRONG):
        return judged
    before = judged.settled_by.removesuffix(ON_NODE).removesuffix(_OR)
    settled_by = ", ".join(each for each in (before, hint) if each)
    return replace(judged, reason=f"{judged.reason}; {reason}", settled_by=settled_by)


def _no_node(container: PodContainer, node: ObservedNode | None) -> tuple[str, str]:
    if node is None:
        name = f"node {container.node}" if container.node else "its node"
        return f"{name} was not read, so its architecture is unknown", "read the nodes too: kubectl get pods,nodes -A"
    if node.operating_system != LINUX:
        return f"node {node.name} runs {node.operating_system}; only Linux nodes are verified", ""
    if not node.architecture:
        return f"node {node.name} reports no architecture", "wait until its kubelet has registered"
    return f"node {node.name} is {node.architecture}; only amd64 and arm64 nodes are verified", ""


def _not_pulled(container: PodContainer, architecture: Architecture) -> str:
    return f'{container.state}: the node found no linux/{architecture} in the image ("{StartFailure.NO_PLATFORM}")'


def _settled_by(container: PodContainer, settled_by: str) -> str:
    return _OR.join(each for each in (settled_by, ON_NODE if container.running else "") if each)


def _of_index(found: Judged, judgement: Judgement) -> Judged:
    proof = _PROOFS[judgement.verdict]
    settled_by = "" if proof is Proof.WRONG else _settled_by(found.container, "")
    return replace(
        found, verdict=proof, reason=judgement.reason, manifest=judgement.digest or "", settled_by=settled_by
    )


def _of_platform(found: Judged, platform: Platform, architecture: Architecture) -> Judged:
    """Judge by the platform of the config that the platform manifest leads to."""
    proof, reason = Proof.PROVEN, f"its config is {platform}"
    if platform.os not in (LINUX, "") or platform.architecture != architecture:
        proof, reason = Proof.WRONG, f"{reason}, and the node is {architecture}"
    return replace(found, verdict=proof, reason=reason, manifest=found.digest, settled_by="")


def _failed(found: Judged, architecture: Architecture) -> Judged:
    """Return a container that fails with an exec format error."""
    fails = f"it {'failed before' if found.container.running else 'fails'} with {StartFailure.EXEC_FORMAT}"
    if found.verdict is Proof.WRONG:
        return replace(found, reason=f"{found.reason}; {fails}")
    image = found.container.image
    reason = f"{fails}: its program is not {architecture}, or a script without #!; {found.reason}"
    known = found.digest_kind is not DigestKind.UNKNOWN
    settled_by = f"multiarch image verify {image} --platform linux/{architecture}" if known else found.settled_by
    return replace(found, verdict=Proof.CANNOT_TELL, reason=reason, settled_by=settled_by)


def _ended(found: Judged) -> Judged:
    """Return a container whose latest run failed, without a message that says why."""
    container = found.container
    said = (
        f"{'' if container.running else f'{container.state}: '}its last run ended with exit code {container.exit_code}"
    )
    if container.log_read:
        return replace(found, reason=f"{found.reason}; {said}, and its log does not say {StartFailure.EXEC_FORMAT}")
    said = f"{said}, and its log was not read"
    if container.running or found.verdict in (Proof.WRONG, Proof.CANNOT_TELL):
        return replace(found, reason=f"{found.reason}; {said}")
    return replace(found, verdict=Proof.CANNOT_TELL, reason=f"{said}; {found.reason}", settled_by=_LOG)


def _of_process(found: Judged, elf: Elf, architecture: Architecture) -> Judged:
    process = f"its process {found.process or '(no path)'} is {found.machine}"
    if found.emulator:
        process += f", run by {found.emulator}"
    if elf.architecture is not architecture:
        declared = found.verdict in (Proof.PROVEN, Proof.CONSISTENT)
        if declared and not found.emulator and elf.little_endian and elf.machine == _32_BIT[architecture]:
            reason = f"{found.reason}; {process}, which this {architecture} node runs"
            return replace(found, reason=reason, settled_by="")
        lie = f", though the image declares linux/{architecture}" if declared else f", and the node is {architecture}"
        return replace(found, verdict=Proof.WRONG, reason=f"{process}{lie}", settled_by="")
    if found.verdict is Proof.WRONG:
        return replace(found, reason=f"{found.reason}; {process}")
    # An emulator of the node's own architecture: the whole node is emulated.
    return replace(found, verdict=Proof.PROVEN, reason=process, settled_by="")
