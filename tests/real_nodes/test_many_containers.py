"""A node with 110 pods of three containers: its reports fit into what Run Command keeps."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from multiarch.facts.architectures import Architecture
from multiarch.ssm import run_command
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.verify.on_node.collect import collect_reports
from multiarch.verify.on_node.model import NodeReport
from tests.real_nodes import roots
from tests.real_nodes.machines import Machine

_CONTAINERS, _IMAGES = 330, 110
_KEPT = 24_000
_CTR = """\
#!/bin/sh
case "$5 $6" in
  'containers ls') cat /node/containers ;;
  'tasks ls') while read -r id; do echo "$id    $(cat /node/pid)    RUNNING"; done </node/ids ;;
  'content ls') cat /node/content ;;
  'containers info') cat "/node/info/$7" ;;
esac
"""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _info(container: str, config: str) -> str:
    """What ``ctr containers info`` prints, with a variable that looks like what is searched."""
    metadata = {"Metadata": {"Config": {"envs": [{"value": ',"ImageRef":"sha256:00"'}]}, "ImageRef": config}}
    value = base64.b64encode(json.dumps(metadata, separators=(",", ":")).encode()).decode()
    extensions = {"io.cri-containerd.container.metadata": {"type_url": "Metadata", "value": value}}
    return json.dumps({"ID": container, "Extensions": extensions, "Spec": {"env": ["A=a secret"]}}, indent=4)


@pytest.fixture
def node(tmp_path: Path) -> Machine:
    made = Machine(roots.ensure(Architecture.AMD64), tmp_path)
    rows, contents = ["CONTAINER    IMAGE    RUNTIME"], ["DIGEST\tSIZE\tAGE\tLABELS"]
    for number in range(_CONTAINERS):
        container, image = _digest(f"container {number}"), f"registry.example.com/team/service-{number % _IMAGES}:1"
        config, manifest = (f"sha256:{_digest(f'{kind} {image}')}" for kind in ("config", "manifest"))
        rows.append(f"{container}    {image}    io.containerd.runc.v2    ")
        made.write(f"info/{container}", _info(container, config))
        if number < _IMAGES:
            labels = f"containerd.io/gc.ref.content.config={config},containerd.io/gc.ref.content.l.0=sha256:{'a' * 64}"
            contents.append(f"{manifest}\t1kB\t2 hours\t{labels}")
    made.write("containers", "\n".join(rows))
    made.write("ids", "".join(f"{row[:64]}\n" for row in rows[1:]))
    made.write("content", "\n".join(contents))
    made.write("bin/ctr", _CTR)
    (tmp_path / "bin/ctr").chmod(0o755)
    made.start_kubelet("--container-runtime-endpoint=unix:///node/containerd.sock")
    made.start_containerd()
    made.start("echo $! >/node/pid\n")
    return made


def test_all_containers_are_collected_in_parts_that_fit(node: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def run(_client: object, script: str, instances: Sequence[str], **_options: Any) -> dict[str, InstanceAnswer]:
        output = node.run(script, by=("/usr/bin/env", "PATH=/node/bin:/usr/bin:/usr/sbin", "/bin/sh"))
        found = re.match(r"ids=(\w+)", script)
        assert found
        asked.append(found[1])
        assert len(output) < _KEPT
        assert "secret" not in output
        return {instances[0]: InstanceAnswer(instances[0], AnswerStatus.DONE, output)}

    monkeypatch.setattr(run_command, "run_script", run)
    found = collect_reports(None, ["i-1"], containers=True)["i-1"]

    assert isinstance(found, NodeReport)
    assert (len(found.containers), found.incomplete, found.faults) == (_CONTAINERS, False, ())
    assert asked == ["0123456789abcdef", "01234567", "89abcdef"]
    for each in found.containers:
        assert each.config == f"sha256:{_digest(f'config {each.image}')}"
        assert each.manifest == f"sha256:{_digest(f'manifest {each.image}')}"
        assert each.elf is not None
        assert (each.elf.architecture, each.fault) == (Architecture.AMD64, "")
