"""Runs one script on many instances through SSM Run Command.

Calls of the API for 50 instances: one DescribeInstanceInformation, one SendCommand, one ListCommandInvocations for
each look at the command (4 within 2 seconds, then at growing intervals); and one GetCommandInvocation per instance.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from multiarch.aws_errors import find_denied_action, translate_failures
from multiarch.ssm.model import AnswerStatus, InstanceAnswer
from multiarch.ssm.outcomes import explain_unreachable, has_ended, read_answer
from multiarch.threads import split_items

_TARGETS: Final = 50
"""SendCommand takes up to 50 instance IDs, and DescribeInstanceInformation returns 50 per page."""
_AT_A_TIME: Final = 8
"""Calls at a time; botocore keeps 10 connections."""
_DELIVERY: Final = 30
"""Seconds that SSM has to deliver the command to the agent (TimeoutSeconds): the API's least."""
_LEAST_SECONDS: Final = 5
"""The agent takes 3,600 seconds for an executionTimeout below this."""
_FIRST_LOOK: Final = 0.3
_LONGEST_LOOK: Final = 5.0

_INSTANCE: Final = re.compile(r"i-(\w{8}|\w{17})|mi-\w{17}", re.ASCII)
_REJECTED: Final = frozenset({"InvalidInstanceId", "UnsupportedPlatformType"})


def run_script(
    client: Any,  # noqa: ANN401 (botocore makes its clients at run time)
    script: str,
    instances: Sequence[str],
    *,
    seconds: float = 60,
    deadline: float = 300,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, InstanceAnswer]:
    """Run ``script`` on each instance, and wait for its answers; each instance gets one, in the order of ``instances``.

    ``client`` is boto3's of the service ssm, which repeats calls that are throttled. ``seconds`` is what the script may
    take on a node, from 5; ``deadline`` how long to wait for all of them. ``progress(done, all)`` gets instances as
    they answer. At the deadline, on an error and on Ctrl-C, commands that have not ended are cancelled.

    Raises OutsideError for what concerns the whole request: credentials, a missing permission (its message names the
    action), an endpoint that does not answer, or throttling.
    """
    wanted = list(dict.fromkeys(instances))
    request = {
        "DocumentName": "AWS-RunShellScript",
        "Comment": "multiarch: reads facts about the node",
        "Parameters": {"commands": [script], "executionTimeout": [str(max(_LEAST_SECONDS, round(seconds)))]},
        "TimeoutSeconds": _DELIVERY,
        "MaxConcurrency": "100%",
        "MaxErrors": "100%",
    }
    with translate_failures(), ThreadPoolExecutor(_AT_A_TIME) as threads:
        asked = _Run(client, request, threads)
        try:
            asked.describe(wanted)
            progress(len(asked.answers), len(wanted))
            for _ in asked.follow(time.monotonic() + deadline):
                progress(len(asked.answers), len(wanted))
        finally:
            threads.shutdown(cancel_futures=True)
            asked.cancel()
    late = f"no answer before the deadline of {deadline:g} s"
    for each in wanted:
        if each not in asked.answers:
            asked.answer(each, AnswerStatus.TIMED_OUT, late, "Run the command again, or give it more time.")
    progress(len(wanted), len(wanted))
    return {each: asked.answers[each] for each in wanted}


@dataclass(slots=True)
class _Run:
    """The commands of one run. ``waiting`` are the instances of each command that have not ended."""

    client: Any
    request: Mapping[str, Any]
    threads: ThreadPoolExecutor
    versions: dict[str, str] = field(default_factory=dict)
    answers: dict[str, InstanceAnswer] = field(default_factory=dict)
    waiting: dict[str, set[str]] = field(default_factory=dict)

    def answer(self, instance: str, status: AnswerStatus, reason: str, hint: str) -> None:
        """Note an answer without an output."""
        self.answers[instance] = InstanceAnswer(instance, status, "", reason, hint, self.versions.get(instance, ""))

    def describe(self, instances: Sequence[str]) -> None:
        """Answer for the instances that can't run a command, and send it to the others."""
        valid = [each for each in instances if _INSTANCE.fullmatch(each)]
        known: dict[str, dict[str, Any]] = {}
        for rows in self.threads.map(self._describe, split_items(valid, _TARGETS)):
            known |= {row["InstanceId"]: row for row in rows}
        self.versions = {name: row.get("AgentVersion", "") for name, row in known.items()}
        found = {each: explain_unreachable(each, known.get(each)) for each in instances}
        self.answers = {each: answer for each, answer in found.items() if answer is not None}
        online = [each for each in instances if each not in self.answers]
        list(self.threads.map(self._send, split_items(online, _TARGETS)))

    def _describe(self, instances: Sequence[str]) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("describe_instance_information").paginate(
            Filters=[{"Key": "InstanceIds", "Values": list(instances)}], PaginationConfig={"PageSize": _TARGETS}
        )
        return [row for page in pages for row in page["InstanceInformationList"]]

    def _send(self, instances: Sequence[str]) -> None:
        """Send the command. One instance that is denied or rejected is enough to reject it for all of them."""
        try:
            sent = self.client.send_command(InstanceIds=list(instances), **self.request)
        except ClientError as error:
            code, text = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
            action = find_denied_action(error)
            denied = [each for each in instances if action and each in text]
            for each in denied:
                self.answer(each, AnswerStatus.NOT_ASKED, f"access denied: {action}", f"Allow {action} for it.")
            if denied:
                parts = [[each for each in instances if each not in denied]]
            elif code not in _REJECTED:
                raise
            elif len(instances) == 1:
                reason = f"SSM rejected the command ({code}): {text or 'the instance is not in a valid state'}"
                self.answer(instances[0], AnswerStatus.NOT_ASKED, reason, "Check that the instance and its agent run.")
                parts = []
            else:
                parts = [list(instances[::2]), list(instances[1::2])]
            for part in filter(None, parts):
                self._send(part)
        else:
            self.waiting[sent["Command"]["CommandId"]] = set(instances)

    def follow(self, end: float) -> Iterator[None]:
        """Look at the commands until all have ended, or up to the deadline ``end``; yield after each look."""
        pause = _FIRST_LOOK
        while any(self.waiting.values()):
            if time.monotonic() + pause >= end:
                time.sleep(max(0.0, end - time.monotonic()))
                return
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_LOOK)
            open_commands = [command for command, left in self.waiting.items() if left]
            ended = [pair for pairs in self.threads.map(self._ended, open_commands) for pair in pairs]
            for command, answer in filter(None, self.threads.map(self._fetch, ended)):
                self.answers[answer.instance] = answer
                self.waiting[command].discard(answer.instance)
            yield

    def _ended(self, command: str) -> list[tuple[str, str]]:
        pages = self.client.get_paginator("list_command_invocations").paginate(CommandId=command)
        rows = [row for page in pages for row in page["CommandInvocations"]]
        left = self.waiting[command]
        return [(command, row["InstanceId"]) for row in rows if row["InstanceId"] in left and has_ended(row)]

    def _fetch(self, pair: tuple[str, str]) -> tuple[str, InstanceAnswer] | None:
        """Return the command and the answer; None where the API does not have it yet: it is eventually consistent."""
        command, instance = pair
        try:
            row = self.client.get_command_invocation(CommandId=command, InstanceId=instance)
        except self.client.exceptions.InvocationDoesNotExist:
            return None
        return (command, read_answer(instance, self.versions[instance], row)) if has_ended(row) else None

    def cancel(self) -> None:
        """Stop what has not ended. A command that can't be cancelled ends by its executionTimeout."""
        for command, left in self.waiting.items():
            if left:
                with suppress(ClientError, BotoCoreError):
                    self.client.cancel_command(CommandId=command, InstanceIds=sorted(left))
