"""Calls of the SSM API within a deadline."""

from __future__ import annotations

import time
from threading import Event
from typing import Any, Final

from botocore.exceptions import ClientError

from multiarch.retries import RetryPolicy

_PASSING: Final = frozenset(
    {
        "InternalFailure",
        "InternalServerError",
        "InvocationDoesNotExist",
        "RateExceeded",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TooManyUpdates",
    }
)
"""Also InvocationDoesNotExist: Run Command is eventually consistent, and a command's invocations appear after it."""
_POLICY: Final = RetryPolicy(retries=10, first_wait=0.25, longest_wait=8)


class OutOfTimeError(Exception):
    """The deadline was reached, or the run was stopped. Its text says what could not be done."""


class Calls:
    """Makes calls of the API, and repeats those that are throttled or fail, up to ten times before the deadline.

    Threads may share it. ``seconds`` counts from now. After ``stop`` nothing is called or waited for.
    """

    def __init__(self, client: Any, seconds: float) -> None:  # noqa: ANN401 (botocore makes its clients at run time)
        """``client`` is boto3's of the service ssm; it may repeat requests by itself."""
        self._client = client
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._stopped = Event()

    def __call__(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make one call, such as ``send_command``.

        Raises OutOfTimeError, ClientError for what SSM rejects, BotoCoreError if it can't be reached.
        """
        for attempt in range(_POLICY.retries):
            self.wait(0)
            try:
                return self.now(operation, **parameters)
            except ClientError as error:
                if code(error) not in _PASSING:
                    raise
                self.wait(_POLICY.wait(attempt), f"{error.operation_name} failed ({code(error)})")
        return self.now(operation, **parameters)

    def wait(self, seconds: float, why: str = "") -> None:
        """Wait. Raises OutOfTimeError, with ``why``, if the deadline is reached or the run was stopped."""
        left = self._end - time.monotonic()
        if self._stopped.wait(max(0.0, min(seconds, left))) or seconds >= left:
            deadline = f"the deadline of {self._seconds:g} s"
            raise OutOfTimeError(f"{why} until {deadline}" if why else f"no answer before {deadline}")

    def stop(self) -> None:
        """End every wait, in all threads."""
        self._stopped.set()

    def now(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Make one call that the deadline does not hold up. Raises ClientError and BotoCoreError."""
        called: dict[str, Any] = getattr(self._client, operation)(**parameters)
        return called


def code(error: ClientError) -> str:
    """Return the error's code: ``InvalidInstanceId``."""
    return str(error.response.get("Error", {}).get("Code", ""))
