"""Reports of nodes of both architectures through the stand-in for SSM, which runs the script in their file systems."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.on_node.collect import collect_reports
from multiarch.verify.on_node.model import NodeReport
from sandbox.aws.remote import Remote
from sandbox.aws.ssm_commands import Target
from tests.real_nodes import roots
from tests.real_nodes.machines import emulation
from tests.sandbox.served import Served, address, serving

_AMD64, _ARM64 = Architecture
_ROOTS = {"i-0000000000000000a": _ARM64, "i-0000000000000000b": _AMD64}


@pytest.fixture(scope="module", autouse=True)
def _emulation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with emulation(tmp_path_factory.mktemp("emulation")):
        yield


def test_each_node_reports_its_architecture_or_why_it_does_not() -> None:
    with serving(policies=False) as process:
        aws = Served(address(process))
        remote = Remote(aws.endpoint)
        for instance, architecture in _ROOTS.items():
            remote.register(instance, Target(root=str(roots.ensure(architecture)), agent_version="3.3.1"))
        remote.register("i-0000000000000000d", Target(output="Welcome to payments-17\n"))
        remote.register("i-0000000000000000e", Target(status="ConnectionLost"))
        instances = [*_ROOTS, "i-0000000000000000d", "i-0000000000000000e", "i-0000000000000000f"]
        found = collect_reports(aws.client("ssm"), instances)

    for instance, architecture in _ROOTS.items():
        report = found[instance]
        assert isinstance(report, NodeReport)
        assert (report.architecture, report.package_architecture) == (architecture, architecture)
        assert report.agent_version == "3.3.1"
        assert report.labels is None
    statuses = [each.status for each in found.values() if isinstance(each, InstanceAnswer)]
    assert statuses == [AnswerStatus.FAILED, AnswerStatus.OFFLINE, AnswerStatus.NOT_REGISTERED]
    banner = found["i-0000000000000000d"]
    assert isinstance(banner, InstanceAnswer)
    assert banner.reason == "The output is not a report: Welcome to payments-17"
