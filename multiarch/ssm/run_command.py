"""Runs one script on many instances through SSM Run Command.

Calls of the API for 50 instances: one DescribeInstanceInformation, one SendCommand, and one ListCommandInvocations for
each look at the command (4 within 2 seconds, then at growing intervals). One GetCommandInvocation comes on top for each
instance whose script wrote more than 2,500 characters, wrote to stderr or failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Lock
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from multiarch.aws_errors import denied_action, failures_as_errors
from multiarch.errors import OutsideError
from multiarch.slices import slices
from multiarch.ssm import outcomes
from multiarch.ssm.calls import Calls, OutOfTimeError, code
from multiarch.ssm.model import Answer, AnswerStatus
from multiarch.ssm.registration import PAGE, Registration, read_registrations, unreachable

_TARGETS: Final = 50
"""SendCommand takes up to 50 instance IDs."""
_AT_A_TIME: Final = 8
"""Commands at a time; botocore keeps 10 connections."""
_DELIVERY: Final = 30
"""Seconds that SSM has to deliver the command to the agent (TimeoutSeconds): the API's least."""
_LEAST_SECONDS: Final = 5
"""The agent takes 3,600 seconds for an executionTimeout below this."""
_FIRST_LOOK: Final = 0.3
_LONGEST_LOOK: Final = 5.0
_DENIALS: Final = 5
"""So many instances are denied before all of them count as denied, if SSM has taken none."""

_INSTANCE: Final = re.compile(r"i-(\w{8}|\w{17})|mi-\w{17}", re.ASCII)
_REFUSED: Final = frozenset({"InvalidInstanceId", "UnsupportedPlatformType"})
_LATE: Final = "Run the command again, or give it more time."


def run(
    client: Any,  # noqa: ANN401 (botocore makes its clients at run time)
    script: str,
    instances: Sequence[str],
    *,
    seconds: float = 60,
    deadline: float = 300,
    document: str = "AWS-RunShellScript",
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, Answer]:
    """Run ``script`` on each instance, and wait for its answers; each instance gets one, in the order of ``instances``.

    ``client`` is boto3's of the service ssm. ``seconds`` is what the script may take on a node, from 5; ``deadline``
    what all of it may take. ``progress(done, all)`` gets instances as they answer. At the deadline, on an error and on
    Ctrl-C, commands that have not ended are cancelled.

    Raises OutsideError for what concerns the whole request: credentials, a missing permission (its message names the
    action), an unknown document, an endpoint that does not answer, or throttling until the deadline.
    """
    wanted = list(dict.fromkeys(instances))
    calls = Calls(client, deadline)
    request = {
        "DocumentName": document,
        "Comment": "multiarch: reads facts about the node",
        "Parameters": {"commands": [script], "executionTimeout": [str(max(_LEAST_SECONDS, round(seconds)))]},
        "TimeoutSeconds": _DELIVERY,
        "MaxConcurrency": "100%",
        "MaxErrors": "100%",
    }
    with failures_as_errors(), ThreadPoolExecutor(_AT_A_TIME) as threads:
        try:
            known = _describe(calls, threads, wanted)
            found = {each: unreachable(each, known.get(each)) for each in wanted}
            answers = {each: answer for each, answer in found.items() if answer is not None}
            online = [each for each in wanted if each not in answers]
            asked = _Run(calls, request, {each: known[each] for each in online}, progress, len(wanted))
            asked.answered(len(answers))
            for batch in as_completed([threads.submit(asked.ask, batch) for batch in slices(online, _TARGETS)]):
                answers |= batch.result()
        except BaseException:
            # The threads end soon: each cancels its command.
            calls.stop()
            threads.shutdown(cancel_futures=True)
            raise
    return {each: answers[each] for each in wanted}


def _describe(calls: Calls, threads: ThreadPoolExecutor, instances: Sequence[str]) -> dict[str, Registration]:
    known: dict[str, Registration] = {}
    valid = [each for each in instances if _INSTANCE.fullmatch(each)]
    try:
        for found in threads.map(lambda batch: read_registrations(calls, batch), slices(valid, PAGE)):
            known |= found
    except OutOfTimeError as error:
        hint = "Run the command again later, or give it more time."
        raise OutsideError(f"SSM did not say which instances it knows: {error}.", hint=hint) from error
    return known


class _Run:
    """The commands of one run. Threads share it, one for each command."""

    def __init__(
        self,
        calls: Calls,
        request: Mapping[str, Any],
        known: Mapping[str, Registration],
        progress: Callable[[int, int], None],
        total: int,
    ) -> None:
        """``request`` is SendCommand's, without instances; ``known`` are those that are asked."""
        self._calls = calls
        self._request = request
        self._known = known
        self._progress = progress
        self._total = total
        self._done = self._sent = self._denied = 0
        self._lock = Lock()

    def answered(self, count: int) -> None:
        """Report progress."""
        with self._lock:
            self._done += count
            self._progress(self._done, self._total)

    def ask(self, instances: Sequence[str]) -> dict[str, Answer]:
        """Run the command on up to 50 instances. Raises ClientError and BotoCoreError for what concerns all."""
        if not instances:
            return {}
        try:
            sent = self._calls("send_command", InstanceIds=list(instances), **self._request)
        except OutOfTimeError as error:
            return self._not_asked(instances, f"the command was not sent: {error}", _LATE)
        except ClientError as error:
            return self._ask_others(instances, error)
        self._sent += 1
        return self._follow(sent["Command"]["CommandId"], instances)

    def _ask_others(self, instances: Sequence[str], error: ClientError) -> dict[str, Answer]:
        """Go on without the instances that SSM refuses: one of them is enough to refuse the whole command."""
        text = error.response["Error"].get("Message", "")
        named = [each for each in instances if re.search(rf"\b{each}\b", text)]
        action = denied_action(error)
        if action and named:
            self._denied += len(named)
            if not self._sent and self._denied >= min(_DENIALS, len(self._known)):
                raise error
            answers = self._not_asked(named, f"access denied: {action}", f"Use credentials that allow {action} for it.")
        elif code(error) not in _REFUSED:
            raise error
        elif named or len(instances) == 1:
            reason = f"SSM refused the command ({code(error)}): {text or 'the instance is not in a valid state'}"
            answers = self._not_asked(named or instances, reason, "Check that the instance and its SSM agent run.")
        else:
            middle = len(instances) // 2
            return self.ask(instances[:middle]) | self.ask(instances[middle:])
        return answers | self.ask([each for each in instances if each not in answers])

    def _not_asked(self, instances: Sequence[str], reason: str, hint: str) -> dict[str, Answer]:
        self.answered(len(instances))
        status = AnswerStatus.NOT_ASKED
        return {each: Answer(each, status, "", reason, hint, self._known[each].agent_version) for each in instances}

    def _follow(self, command: str, instances: Sequence[str]) -> dict[str, Answer]:
        """Look at the command until each instance has ended, or the deadline is reached."""
        answers: dict[str, Answer] = {}
        late = ""
        try:
            for seconds in _looks():
                self._calls.wait(seconds)
                for row in self._invocations(command):
                    instance = row["InstanceId"]
                    if instance not in answers and outcomes.ended(row):
                        answers[instance] = self._answer(command, row)
                        self.answered(1)
                if len(answers) == len(instances):
                    return answers
        except OutOfTimeError as error:
            late = str(error)
        finally:
            if len(answers) < len(instances):
                late += self._cancel(command, [each for each in instances if each not in answers])
        left = [each for each in instances if each not in answers]
        self.answered(len(left))
        status = AnswerStatus.TIMED_OUT
        return answers | {each: Answer(each, status, "", late, _LATE, self._known[each].agent_version) for each in left}

    def _invocations(self, command: str) -> Iterator[dict[str, Any]]:
        more: dict[str, str] = {}
        while True:
            page = self._calls("list_command_invocations", CommandId=command, Details=True, MaxResults=_TARGETS, **more)
            yield from page.get("CommandInvocations", ())
            if not page.get("NextToken"):
                return
            more = {"NextToken": page["NextToken"]}

    def _answer(self, command: str, row: Mapping[str, Any]) -> Answer:
        instance = row["InstanceId"]
        version = self._known[instance].agent_version
        output = outcomes.whole_output(row)
        if output is None and outcomes.ran(row):
            row = self._calls("get_command_invocation", CommandId=command, InstanceId=instance)
        return outcomes.answer(instance, version, row, output)

    def _cancel(self, command: str, instances: Sequence[str]) -> str:
        """Cancel the command on these instances; a text if that failed, for the reason of their answers."""
        try:
            self._calls.now("cancel_command", CommandId=command, InstanceIds=list(instances))
        except ClientError as error:
            return f", and could not be cancelled ({denied_action(error) or code(error)})"
        except BotoCoreError as error:
            return f", and could not be cancelled ({error})"
        return ""


def _looks() -> Iterator[float]:
    """Seconds between looks at a command: 0.3, 0.45, 0.68, … 5."""
    seconds = _FIRST_LOOK
    while True:
        yield seconds
        seconds = min(seconds * 1.5, _LONGEST_LOOK)
