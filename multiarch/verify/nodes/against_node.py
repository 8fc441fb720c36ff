"""EC2 held against the Node, and the Node against what the node reports about itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from multiarch.errors import UnknownFactError
from multiarch.facts import kubernetes
from multiarch.facts import labels as keys
from multiarch.facts.taints import Taint
from multiarch.rules import Finding
from multiarch.scheduling.tolerations import of_architecture
from multiarch.verify.nodes.model import Instance, KubernetesNode
from multiarch.verify.nodes.rules import make_finding
from multiarch.verify.on_node.model import NodeReport

_CONTAINERD = "containerd://"


def image_findings(instance: Instance) -> Iterator[Finding]:
    """Whether the AMI boots on the instance type, and comes of the launch template's current version."""
    image, own = instance.image, instance.architecture
    if own is not None and image.architecture is not None and image.architecture is not own:
        yield make_finding(
            "ami-architecture", f"the AMI {image.id} is {image.architecture} and {instance.type} is {own}."
        )
    template = instance.template
    if template and template.version and template.current and template.version != template.current:
        yield make_finding(
            "launch-template",
            f"it has version {template.version} of {template.id} and its Auto Scaling Group uses {template.current}.",
        )


def node_findings(instance: Instance | None, node: KubernetesNode, version: str) -> Iterator[Finding]:
    """Whether the Node is what EC2 runs, and in order. ``version`` is the control plane's minor, or empty."""
    own = instance.architecture if instance else None
    if own is not None and node.architecture and node.architecture != own:
        kind = instance.type if instance else ""
        yield make_finding("node-architecture", f"the kubelet reports {node.architecture} and {kind} is {own}.")
    expected = {keys.ARCHITECTURE: str(own or node.architecture)}
    if instance:
        expected |= {keys.INSTANCE_TYPE: instance.type, keys.ZONE: instance.zone}
    for key, value in expected.items():
        if value and (has := node.labels.get(key)) != value:
            said = f"is {has!r}" if has is not None else "is missing"
            yield make_finding("node-label", f"the label {key} {said}; EC2's value is {value!r}.")
    if node.ready != "True":
        why = f": {node.why_not_ready.rstrip('.')}" if node.why_not_ready else ""
        yield make_finding("not-ready", f"Ready is {node.ready}{why}.")
    if node.runtime and not node.runtime.startswith(_CONTAINERD):
        yield make_finding("runtime", f"its container runtime is {node.runtime}.")
    if fault := _skew(node.kubelet, version):
        yield make_finding("kubelet-version", fault)


def _skew(kubelet: str, version: str) -> str:
    """What is wrong with a kubelet's version; empty if it has the control plane's minor, or either is unknown."""
    minor = ".".join(kubelet.removeprefix("v").split(".")[:2])
    try:
        own, plane = kubernetes.parse(minor), kubernetes.parse(version)
    except UnknownFactError:
        return ""
    if own == plane:
        return ""
    order = "newer" if own > plane else "older"
    return f"its kubelet is {kubelet}, {order} than the control plane's {version}."


def report_findings(
    instance: Instance | None, node: KubernetesNode | None, report: NodeReport, planned: Collection[Taint | str] = ()
) -> Iterator[Finding]:
    """Whether the node reports about itself what EC2 and the Node say.

    Taints and keys of labels in ``planned`` are compared with the plan, and not here.
    """
    cpu = report.architecture
    said = node.architecture if node and node.architecture else str((instance and instance.architecture) or "")
    if cpu is not None and said and said != cpu:
        yield make_finding("cpu-architecture", f"`uname -m` is {report.machine} and the Node is {said}.")
    foreign: dict[str, list[str]] = {}
    for program in report.programs:
        if program.elf is not None and cpu is not None and program.elf.architecture is not cpu:
            foreign.setdefault(str(program.elf), []).append(program.path)
    for built, paths in foreign.items():
        verb = "are" if len(paths) > 1 else "is"
        said = f"{', '.join(paths)} {verb} built for {built}, and the CPU is {cpu}."
        yield make_finding("program-architecture", said)
    if report.package_architecture is not None and cpu is not None and report.package_architecture is not cpu:
        yield make_finding(
            "package-architecture",
            f"the package {report.package} is for {report.package_architecture}, and the CPU is {cpu}.",
        )
    if node is None:
        return
    if report.kernel and node.kernel and report.kernel != node.kernel:
        yield make_finding("kernel", f"it runs kernel {report.kernel} and the Node says {node.kernel}.")
    kubelet = report.program("kubelet")
    # Bottlerocket's list of packages has no path, and a version without EKS's suffix.
    if kubelet and kubelet.path and kubelet.version and node.kubelet and kubelet.version.split()[-1] != node.kubelet:
        yield make_finding("kubelet-binary", f"{kubelet.path} is {kubelet.version} and the Node says {node.kubelet}.")
    yield from _started_with(node, report, planned)


def _started_with(node: KubernetesNode, report: NodeReport, planned: Collection[Taint | str]) -> Iterator[Finding]:
    """Taints and labels of the kubelet's start that the Node does not have any more.

    Of the taints those that stand for an architecture: others are often there until an agent has started.
    """
    gone = [each for each in report.taints or () if each not in node.taints and each not in planned]
    lost = [f"the taint {taint}" for taint in gone if of_architecture(taint)]
    lost += [
        f"the label {key}={value}"
        for key, value in sorted((report.labels or {}).items())
        if node.labels.get(key) != value and key not in planned
    ]
    if lost:
        yield make_finding(
            "kubelet-taints", f"the kubelet was started with {', '.join(lost)}, and the Node is without."
        )
