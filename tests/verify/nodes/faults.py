"""One fault of a node for each rule of ``verify nodes``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from multiarch.facts.architectures import Architecture
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.nodes.model import Image, LaunchTemplateVersion
from multiarch.verify.on_node.model import NodeReport, ProgramFile
from tests.verify.nodes.worlds import (
    World,
    elf,
    taint,
    with_instance,
    with_labels,
    with_node,
    with_report,
)

Fault = Callable[[World], World]


def _other(world: World) -> Architecture:
    own = world.group.architectures[0]
    return Architecture.AMD64 if own is Architecture.ARM64 else Architecture.ARM64


def _with_program(world: World) -> World:
    assert isinstance(world.report, NodeReport)
    kubelet, *others = world.report.programs
    return with_report(world, programs=(replace(kubelet, elf=elf(_other(world))), *others))


def _of_other_type(world: World) -> World:
    kind = "m7i.large" if _other(world) is Architecture.AMD64 else "m7g.large"
    return with_instance(world, type=kind, architecture=_other(world))


def _answer(world: World) -> World:
    assert world.instance
    found = InstanceAnswer(
        world.instance.id, AnswerStatus.OFFLINE, "", "the SSM agent does not answer", "Restart it.", "3.3.1"
    )
    return replace(world, report=found)


def _joined_never(world: World) -> World:
    return replace(world, node=None)


FAULTS: Mapping[str, Fault] = {
    "instance-type": lambda world: with_labels(
        with_instance(world, type="c7g.large" if world.group.architectures[0] is Architecture.ARM64 else "c7i.large"),
        **{
            "node.kubernetes.io/instance-type": "c7g.large"
            if world.group.architectures[0] is Architecture.ARM64
            else "c7i.large"
        },
    ),
    "plan-architecture": _of_other_type,
    "ami-architecture": lambda world: with_instance(
        world, image=replace(world.instance.image, architecture=_other(world)) if world.instance else None
    ),
    "ami-release": lambda world: with_instance(
        world,
        image=Image("ami-old", "amazon-eks-node-al2023-arm64-standard-1.35-v20250101", world.group.architectures[0]),
    ),
    "ami-family": lambda world: with_node(world, os_image="Bottlerocket OS 1.52.0 (aws-k8s-1.35)"),
    "launch-template": lambda world: with_instance(world, template=LaunchTemplateVersion("lt-1", "2", "3")),
    "unknown-group": lambda world: with_instance(world, tags={"multiarch-eks/node-group": "else"}, scaling_group=""),
    "node-architecture": lambda world: with_node(world, architecture=str(_other(world))),
    "node-label": lambda world: with_labels(world, **{"kubernetes.io/arch": str(_other(world))}),
    "not-ready": lambda world: with_node(world, ready="False", why_not_ready="container runtime is down"),
    "never-joined": _joined_never,
    "no-instance": lambda world: with_instance(world, state="terminated"),
    "no-provider-id": lambda world: with_node(world, instance=""),
    "kubelet-version": lambda world: with_report(
        with_node(world, kubelet="v1.34.1-eks-1"),
        programs=(ProgramFile("kubelet", "/usr/bin/kubelet", elf(world.group.architectures[0]), "v1.34.1-eks-1"),),
    ),
    "taint-missing": lambda world: with_node(world, taints=()),
    "taint-differs": lambda world: with_node(world, taints=(taint("arch=graviton:NoSchedule"),)),
    "taint-unexpected": lambda world: with_node(
        world, taints=(*world.group.taints, taint("kubernetes.io/arch=riscv64:NoSchedule"))
    ),
    "label": lambda world: with_labels(world, team=None),
    "cpu-architecture": lambda world: with_report(
        world, machine="x86_64" if _other(world) is Architecture.AMD64 else "aarch64", architecture=_other(world)
    ),
    "program-architecture": _with_program,
    "kubelet-taints": lambda world: with_report(world, labels={"team": "checkout", "tier": "gold"}),
    "taint-late": lambda world: with_report(world, taints=()),
    "not-asked": _answer,
}
"""By the rule that must find it. Some are found by others too."""
ONLY_WITH_TAINTS = frozenset(("taint-missing", "taint-differs", "taint-late"))
"""Of groups that have a taint."""
