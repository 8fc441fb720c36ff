"""Calls of the SSM API within a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError

from multiarch.retries import RetryPolicy

_THROTTLED: Final = frozenset(
    {
        "RateExceeded",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TooManyUpdates",
    }
)
_PASSING: Final = frozenset({"InternalServerError", "InternalFailure", "InvocationDoesNotExist", "ServiceUnavailable"})
"""Also InvocationDoesNotExist: Run Command is eventually consistent, and a command's invocations appear after it."""

_THROTTLING: Final = RetryPolicy(retries=0, first_wait=0.25, longest_wait=8)
_FAILING: Final = RetryPolicy(retries=4, first_wait=0.25)


class OutOfTimeError(Exception):
    """The deadline was reached, or the run was stopped. Its text says what could not be done."""


class Calls:
    """Makes calls of the API: throttled ones are repeated until the deadline, failed ones up to four times.

    Threads may share it. ``seconds`` counts from now. After ``stop`` nothing is called or waited for.
    """

    def __init__(self, client: Any, seconds: float) -> None:  # noqa: ANN401 (botocore makes its clients at run time)
        """``client`` is boto3's of the service ssm; it may repeat requests by itself."""
        self._client = client
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._stopped = Event()

    def __call__(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call, such as ``send_command``.

        Raises OutOfTimeError, ClientError for what SSM refuses, BotoCoreError if it can't be reached.
        """
        call: Callable[..., dict[str, Any]] = getattr(self._client, operation)
        throttled = failed = 0
        while True:
            self.wait(0)
            try:
                return call(**parameters)
            except ClientError as error:
                if code(error) in _THROTTLED:
                    throttled += 1
                    self.wait(_THROTTLING.wait(throttled - 1), f"SSM throttled {error.operation_name}")
                    continue
                if code(error) not in _PASSING or failed == _FAILING.retries:
                    raise
            except HTTPClientError:
                if failed == _FAILING.retries:
                    raise
            self.wait(_FAILING.wait(failed))
            failed += 1

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
        """One call that the deadline does not hold up. Raises ClientError and BotoCoreError."""
        called: dict[str, Any] = getattr(self._client, operation)(**parameters)
        return called


def code(error: ClientError) -> str:
    """The error's code: ``InvalidInstanceId``."""
    return str(error.response.get("Error", {}).get("Code", ""))
