"""A stand-in for SSM Run Command, in front of moto's SSM: its commands really run.

It does not show the agent's own behaviour (its script file, its queue of commands, reboots), IAM beyond what
``Faults.denied`` says, outputs in S3 and CloudWatch Logs, targets by tag, other documents than AWS-RunShellScript,
and {{ssm:parameter}} in commands.

Upstream: Systems Manager API reference; requests and answers are checked against botocore's model.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from sandbox.aws.shapes import faults, model
from sandbox.aws.ssm_commands import Command, Faults, Target

ACCOUNT: Final = "123456789012"
PREFIX: Final = "AmazonSSM."
_DOCUMENT: Final = "AWS-RunShellScript"
_PARAMETERS: Final = frozenset({"commands", "workingDirectory", "executionTimeout"})


class RejectedError(Exception):
    """An error of the API: its code and message."""

    def __init__(self, code: str, message: str) -> None:
        """``code`` as in botocore's model, or one that is common to all services."""
        super().__init__(message)
        self.code = code


class SsmStandIn:
    """The operations of Run Command. ``targets`` are the instances that have an agent, ``commands`` what was sent."""

    def __init__(self) -> None:
        """Know no instance."""
        self._lock = threading.Lock()
        self._operations: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "CancelCommand": self._cancel_command,
            "DescribeInstanceInformation": self._describe_instance_information,
            "GetCommandInvocation": self._get_command_invocation,
            "ListCommandInvocations": self._list_command_invocations,
            "SendCommand": self._send_command,
        }
        self.empty()

    def empty(self) -> None:
        """Start anew; what runs is stopped."""
        for command in getattr(self, "commands", {}).values():
            for invocation in command.invocations.values():
                invocation.cancel()
        self.targets: dict[str, Target] = {}
        self.faults = Faults()
        self.commands: dict[str, Command] = {}

    def serves(self, target: str) -> bool:
        """Return whether a request's X-Amz-Target (``AmazonSSM.SendCommand``) is for here."""
        return target.startswith(PREFIX) and target.removeprefix(PREFIX) in self._operations

    def answer(self, target: str, body: bytes) -> tuple[int, bytes]:
        """Return the HTTP status and the body of the answer."""
        operation = target.removeprefix(PREFIX)
        try:
            with self._lock:
                answered = self._call(operation, json.loads(body or b"{}"))
        except RejectedError as error:
            status = 500 if error.code == "InternalServerError" else 400
            return status, json.dumps({"__type": error.code, "message": str(error)}).encode()
        shape = model("ssm").operation_model(operation).output_shape
        wrong = faults(answered, shape)
        if wrong:
            raise AssertionError(f"not an answer of {operation}: {wrong}")
        return 200, json.dumps(answered).encode()

    def _call(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if self.faults.takes("throttle", operation):
            raise RejectedError("ThrottlingException", "Rate exceeded")
        if self.faults.takes("fail", operation):
            raise RejectedError("InternalServerError", "An error occurred on the server side.")
        if f"ssm:{operation}" in self.faults.denied:
            raise _denied(operation, "*")
        wrong = faults(request, model("ssm").operation_model(operation).input_shape)
        if wrong:
            raise RejectedError("ValidationException", f"{len(wrong)} validation error detected: {'; '.join(wrong)}")
        return self._operations[operation](request)

    def _describe_instance_information(self, request: Mapping[str, Any]) -> dict[str, Any]:
        rows = [(name, target) for name, target in sorted(self.targets.items()) if target.status is not None]
        for wanted in request.get("Filters", ()):
            if wanted["Key"] != "InstanceIds":
                raise RejectedError("InvalidFilterKey", f"The stand-in does not know the filter {wanted['Key']}.")
            rows = [row for row in rows if row[0] in wanted["Values"]]
        page, token = _page(rows, request, 50)
        now = time.time()
        listed = [
            {
                "InstanceId": name,
                "PingStatus": target.status,
                "LastPingDateTime": now if target.status == "Online" else now - 3600,
                "AgentVersion": "3.3.3050.0",
                "PlatformType": target.platform,
                "PlatformName": "Amazon Linux",
                "ResourceType": "EC2Instance",
            }
            for name, target in page
        ]
        return {"InstanceInformationList": listed} | token

    def _send_command(self, request: Mapping[str, Any]) -> dict[str, Any]:
        instances, parameters = request.get("InstanceIds", []), request.get("Parameters", {})
        for each in instances:
            if each in self.faults.denied:
                raise _denied("SendCommand", f"arn:aws:ec2:eu-west-1:{ACCOUNT}:instance/{each}")
        if request["DocumentName"] != _DOCUMENT:
            raise RejectedError("InvalidDocument", "")
        if not parameters.get("commands") or not parameters.keys() <= _PARAMETERS:
            raise RejectedError("InvalidParameters", f"{_DOCUMENT} needs commands, and takes {sorted(_PARAMETERS)}.")
        if len(set(instances)) != len(instances):
            raise RejectedError("DuplicateInstanceId", "")
        invalid = [each for each in instances if self.targets.get(each, Target(status=None)).status != "Online"]
        if invalid or not instances:
            said = f"Instances [[{', '.join(invalid)}]] not in a valid state for account {ACCOUNT}"
            raise RejectedError("InvalidInstanceId", said)
        command = Command.send(request, self.targets)
        self.commands[command.id] = command
        return {"Command": command.common()}

    def _list_command_invocations(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command = self.commands.get(request.get("CommandId", ""))
        if command is None:
            raise RejectedError("InvalidCommandId", "")
        command.look()
        shown = list(command.invocations.values()) if self._appeared(command) else []
        page, token = _page(shown, request, 50)
        rows = [
            command.common() | {"InstanceId": each.instance, "RequestedDateTime": command.sent, **each.status}
            for each in page
        ]
        return {"CommandInvocations": rows} | token

    def _get_command_invocation(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command = self.commands.get(request["CommandId"])
        invocation = command.invocations.get(request["InstanceId"]) if command else None
        if command is None or invocation is None or not self._appeared(command):
            raise RejectedError("InvocationDoesNotExist", "")
        command.look()
        return command.common() | invocation.fetched()

    def _cancel_command(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command = self.commands.get(request["CommandId"])
        if command is None:
            raise RejectedError("InvalidCommandId", "")
        chosen = [command.invocations[each] for each in request.get("InstanceIds", [])]
        for invocation in chosen or command.invocations.values():
            invocation.cancel()
        return {}

    def _appeared(self, command: Command) -> bool:
        return time.time() - command.sent >= self.faults.appear_after


def _page(rows: list[Any], request: Mapping[str, Any], default: int) -> tuple[list[Any], dict[str, str]]:
    start, size = int(request.get("NextToken") or 0), request.get("MaxResults", default)
    token = {"NextToken": str(start + size)} if start + size < len(rows) else {}
    return rows[start : start + size], token


def _denied(operation: str, resource: str) -> RejectedError:
    who = f"User: arn:aws:sts::{ACCOUNT}:assumed-role/verify/session"
    why = f"because no identity-based policy allows the ssm:{operation} action"
    return RejectedError(
        "AccessDeniedException", f"{who} is not authorized to perform: ssm:{operation} on resource: {resource} {why}"
    )
