"""All containers with their verdicts: what the API server, the registries and the nodes say, joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from multiarch.observed.nodes import ObservedNode
from multiarch.plurals import join_names
from multiarch.registry.model import Registry
from multiarch.ssm.model import InstanceAnswer
from multiarch.verify.on_node.model import NodeReport, RunningContainer
from multiarch.verify.pods.digests import Question, look_up
from multiarch.verify.pods.model import DigestKind, Judged, PodContainer, Pods, PodVerification, RegistryDigest
from multiarch.verify.pods.verdict import explain_not_on_node, judge_by_registry, judge_on_node

Reports = Mapping[str, NodeReport | InstanceAnswer]
"""What nodes said about themselves, by the ID of the instance."""

_NAMED = 3
"""Nodes named in a note; the others are counted."""
_NOT_PULLED = RegistryDigest(DigestKind.UNKNOWN, reason="nothing was pulled")


def list_instances(pods: Pods) -> tuple[str, ...]:
    """Return the EC2 instances on which any of the containers runs, sorted."""
    nodes = {each.node for each in pods.containers if each.running}
    return tuple(sorted({node.instance for name, node in pods.nodes.items() if name in nodes and node.instance}))


async def verify_pods(
    registry: Registry,
    pods: Pods,
    reports: Reports | None = None,
    *,
    looked_up: Callable[[int, int], None] = lambda _done, _all: None,
) -> PodVerification:
    """Judge every container. ``reports`` None means that the nodes were not queried.

    Nothing is raised for a container: what can't be told is a verdict. ``looked_up(done, all)`` counts digests.
    """
    held = _held(reports or {})
    questions = {each: _question(each) for each in pods.containers}
    found = await look_up(registry, filter(None, questions.values()), looked_up=looked_up)
    judged = []
    for container, question in questions.items():
        node = pods.nodes.get(container.node)
        each = judge_by_registry(container, node, _NOT_PULLED if question is None else found[question])
        if reports is not None and container.running:
            answer = None if node is None else reports.get(node.instance)
            each = _on_node(each, held.get(container.container_id), answer)
        judged.append(each)
    used = {each.host.name: each.host for each in judged if each.host is not None}
    answered = None if reports is None else sum(isinstance(each, NodeReport) for each in reports.values())
    return PodVerification(tuple(judged), tuple(_notes(used, reports)), pods.not_started, answered)


def _held(reports: Reports) -> dict[str, RunningContainer]:
    return {
        each.container_id: each
        for report in reports.values()
        if isinstance(report, NodeReport)
        for each in report.containers
    }


def _question(container: PodContainer) -> Question | None:
    images = tuple(dict.fromkeys(each for each in (container.image, container.reported) if each))
    return Question(container.image_id, images) if container.image_id else None


def _on_node(judged: Judged, held: RunningContainer | None, answer: NodeReport | InstanceAnswer | None) -> Judged:
    if held is not None:
        return judge_on_node(judged, held)
    if isinstance(answer, NodeReport) and answer.faults:
        return explain_not_on_node(judged, f"its node does not report this container: {answer.faults[0]}")
    if isinstance(answer, NodeReport):
        return explain_not_on_node(
            judged, "its node no longer has this container, which restarted meanwhile", "verify again"
        )
    if isinstance(answer, InstanceAnswer):
        return explain_not_on_node(judged, f"its node did not answer ({answer.status})", answer.hint.rstrip("."))
    return explain_not_on_node(judged, "its node is not an EC2 instance that SSM can reach")


def _notes(nodes: Mapping[str, ObservedNode], reports: Reports | None) -> Iterator[str]:
    """Yield a sentence about the nodes that could not be queried, for each reason."""
    silent: dict[tuple[str, str], list[str]] = {}
    for name, node in sorted(nodes.items()):
        report = None if reports is None else reports.get(node.instance)
        if isinstance(report, InstanceAnswer):
            silent.setdefault((f"{report.status}: {report.reason}".rstrip(": ."), report.hint), []).append(name)
    for (reason, hint), names in sorted(silent.items()):
        yield f"Not queried through SSM: {join_names(names, _NAMED)} ({reason}). {hint}".rstrip()
