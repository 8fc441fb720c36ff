"""SSM sessions: the only way to a node."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from tests.autoscaling.evaluation import Call, allowed
from tests.components import declared
from tests.components.declared import World


def test_the_document_is_session_managers_and_logs_encrypted(small: World) -> None:
    document = small.inputs(declared.DOCUMENT)
    assert (document["documentType"], document["documentFormat"]) == ("Session", "JSON")
    content = json.loads(document["content"])
    assert (content["schemaVersion"], content["sessionType"]) == ("1.0", "Standard_Stream")
    inputs = content["inputs"]
    assert inputs["cloudWatchLogGroupName"] == small.inputs(declared.LOG_GROUP, "sessions")["name"]
    assert inputs["cloudWatchEncryptionEnabled"] is inputs["cloudWatchStreamingEnabled"] is True
    assert small.inputs(declared.LOG_GROUP, "sessions")["kmsKeyId"].endswith("<Key:key>")


def test_preferences_are_the_teams(changed: World, bare: World) -> None:
    inputs = json.loads(changed.inputs(declared.DOCUMENT)["content"])["inputs"]
    assert (inputs["idleSessionTimeout"], inputs["maxSessionDuration"]) == ("7", "90")
    assert (inputs["runAsEnabled"], inputs["runAsDefaultUser"]) == (True, "ops")
    inputs = json.loads(bare.inputs(declared.DOCUMENT)["content"])["inputs"]
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


NODE = "arn:aws:ec2:eu-west-1:111122223333:instance/i-0123456789abcdef0"
DOCUMENT = "arn:aws:ssm:eu-west-1:111122223333:document/shop-dev-session"
OWN = {"ssm:resourceTag/multiarch-eks/cluster": "shop-dev"}
# What AWS adds to a request that names no document, where the policy does not require the check.
CHECKED, UNCHECKED = ({"ssm:SessionDocumentAccessCheck": value} for value in ("true", "false"))


def test_people_open_sessions_on_this_clusters_nodes_with_its_document_alone(full: World) -> None:
    policy = json.loads(full.outputs["sessionPolicy"])
    starts = {"Statement": [each for each in policy["Statement"] if each["Action"] == "ssm:StartSession"]}

    def may(resource: str, context: dict[str, str]) -> bool:
        return allowed([starts], Call("ssm:StartSession", resource, context))

    assert full.inputs(declared.DOCUMENT)["name"] == "shop-dev-session"
    assert may(NODE, OWN | CHECKED)
    assert may(DOCUMENT, CHECKED)
    assert not may(NODE, {"ssm:resourceTag/multiarch-eks/cluster": "shop-prod", **CHECKED})
    assert not may(NODE, CHECKED)
    assert not may(DOCUMENT.replace("shop-dev-session", "SSM-SessionManagerRunShell"), CHECKED)
    # A session without a document: each statement needs the check, or the default document would be allowed.
    statements = starts["Statement"]
    assert {json.dumps(each["Condition"]["BoolIfExists"]) for each in statements} == {json.dumps(CHECKED)}
    assert not may(NODE, OWN | UNCHECKED)
    (end,) = (each for each in policy["Statement"] if each["Sid"] == "EndOwnSessions")
    assert end["Resource"] == "arn:aws:ssm:eu-west-1:111122223333:session/${aws:userid}-*"
    assert end["Action"] == ["ssm:ResumeSession", "ssm:TerminateSession"]


def test_sessions_can_be_encrypted_and_then_nodes_and_people_may_use_the_key(full: World, changed: World) -> None:
    def rights(found: World, sid: str) -> list[object]:
        policies = [str(each.inputs["policy"]) for each in found.all(declared.ROLE_POLICY)]
        statements = [s for text in (*policies, found.outputs["sessionPolicy"]) for s in json.loads(text)["Statement"]]
        return [(each["Action"], each["Resource"]) for each in statements if each.get("Sid") == sid]

    def key(found: World) -> str:
        return str(json.loads(found.inputs(declared.DOCUMENT)["content"])["inputs"]["kmsKeyId"])

    assert (key(full), rights(full, "DecryptSessions"), rights(full, "EncryptSessions")) == ("", [], [])
    arn = key(changed)
    assert arn.endswith("<Key:key>")
    assert set(rights(changed, "DecryptSessions")) == {("kms:Decrypt", arn)}
    assert rights(changed, "EncryptSessions") == [("kms:GenerateDataKey", arn)]
