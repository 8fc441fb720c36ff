"""SSM sessions: the only way to a node."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from tests.components import declared
from tests.components.declared import World, world


def test_the_document_is_session_managers_and_logs_encrypted(small: World) -> None:
    document = small.inputs(declared.DOCUMENT)
    assert (document["documentType"], document["documentFormat"]) == ("Session", "JSON")
    content = json.loads(document["content"])
    assert (content["schemaVersion"], content["sessionType"]) == ("1.0", "Standard_Stream")
    inputs = content["inputs"]
    assert inputs["cloudWatchLogGroupName"] == small.inputs(declared.LOG_GROUP, "sessions")["name"]
    assert inputs["cloudWatchEncryptionEnabled"] is inputs["cloudWatchStreamingEnabled"] is True
    assert small.inputs(declared.LOG_GROUP, "sessions")["kmsKeyId"].endswith("<Key:key>")


def test_preferences_are_the_teams() -> None:
    words = {"idleTimeoutMinutes": 7, "maxDurationMinutes": 90, "runAsUser": "ops", "logToCloudWatch": False}
    inputs = json.loads(world({"session": words}).inputs(declared.DOCUMENT)["content"])["inputs"]
    assert (inputs["idleSessionTimeout"], inputs["maxSessionDuration"]) == ("7", "90")
    assert (inputs["runAsEnabled"], inputs["runAsDefaultUser"]) == (True, "ops")
    assert (inputs["cloudWatchLogGroupName"], inputs["cloudWatchStreamingEnabled"]) == ("", False)


def test_the_session_line_asks_for_a_running_node_of_the_group_and_opens_a_session_on_it(
    full: World, tmp_path: Path
) -> None:
    # A stand-in of the AWS CLI: it knows one instance, and writes down how it was called.
    cli = tmp_path / "aws"
    cli.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {shlex.quote(str(tmp_path / "calls"))}\n'
        'case "$1" in ec2) echo i-0123456789abcdef0;; esac\n'
    )
    cli.chmod(0o755)
    line = full.outputs["sessions"]["own-arm"]
    subprocess.run(["/bin/sh", "-c", line], check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    found, started = (tmp_path / "calls").read_text().splitlines()
    assert "Name=tag:multiarch-eks/node-group,Values=own-arm" in found
    assert "Name=tag:multiarch-eks/cluster,Values=shop-dev" in found
    assert "Name=instance-state-name,Values=running" in found
    assert started.endswith("--target i-0123456789abcdef0")
    assert f"--document-name {full.inputs(declared.DOCUMENT)['name']}" in started
    assert "--region eu-west-1" in started


def test_there_is_a_line_for_every_group(full: World) -> None:
    assert set(full.outputs["sessions"]) == {group.name for group in full.plan.node_groups}
