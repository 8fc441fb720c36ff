"""Get nodes' reports through SSM Run Command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from multiarch.ssm import run_command
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.on_node.model import NodeReport
from multiarch.verify.on_node.report import NodeReportError, parse_report
from multiarch.verify.on_node.script import ID_DIGITS, build_node_script

_Reports = dict[str, NodeReport | InstanceAnswer]


def collect_reports(
    client: Any,  # noqa: ANN401 (botocore makes its clients at run time)
    instances: Sequence[str],
    *,
    containers: bool = False,
    deadline: float = 300,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> _Reports:
    """Return each instance's report, or the answer that says why there is none.

    ``client`` is boto3's of the service ssm; ``deadline`` and ``progress`` are those of
    :func:`multiarch.ssm.run_command.run_script`. With ``containers``, nodes whose containers do not fit into one output
    are sent again for parts of them, each time with another deadline. Raises MultiarchError for what concerns all
    instances.
    """

    def asked(some: Sequence[str], ids: str) -> _Reports:
        script = build_node_script(containers=containers, ids=ids)
        answers = run_command.run_script(client, script, some, deadline=deadline, progress=progress)
        return {instance: _read(answer) for instance, answer in answers.items()}

    reports = asked(instances, ID_DIGITS)
    return _completed(reports, ID_DIGITS, asked) if containers else reports


def _read(answer: InstanceAnswer) -> NodeReport | InstanceAnswer:
    if answer.status is not AnswerStatus.DONE:
        return answer
    try:
        return replace(parse_report(answer.output), agent_version=answer.agent_version)
    except NodeReportError as error:
        hint = error.hint or "Run the command again."
        return replace(answer, status=AnswerStatus.FAILED, reason=error.message, hint=hint)


def _completed(reports: _Reports, ids: str, asked: Callable[[Sequence[str], str], _Reports]) -> _Reports:
    """Add the containers that incomplete reports do not have, by requesting each half of ``ids``."""
    partial = {instance: each for instance, each in reports.items() if isinstance(each, NodeReport) and each.incomplete}
    if not partial:
        return reports
    if len(ids) == 1:
        fault = f"more containers run here than could be reported, with IDs that begin with {ids}"
        return reports | {key: replace(each, faults=(*each.faults, fault)) for key, each in partial.items()}
    half = len(ids) // 2
    for part in (ids[:half], ids[half:]):
        for instance, more in _completed(asked(list(partial), part), part, asked).items():
            partial[instance] = _joined(partial[instance], more, part)
    return reports | partial


def _joined(report: NodeReport, more: NodeReport | InstanceAnswer, ids: str) -> NodeReport:
    if isinstance(more, InstanceAnswer):
        fault = f"containers with IDs that begin with one of {ids} may be missing: {more.reason}"
        return replace(report, faults=(*report.faults, fault))
    containers = {each.container_id: each for each in (*report.containers, *more.containers)}
    return replace(
        report,
        containers=tuple(containers.values()),
        faults=tuple(dict.fromkeys((*report.faults, *more.faults))),
        incomplete=False,
    )
