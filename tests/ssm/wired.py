"""A boto3 client whose requests the sandbox's stand-in for SSM answers within this process."""

from __future__ import annotations

from collections import Counter
from io import BytesIO
from typing import Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config

from sandbox.aws.ssm import PREFIX, SsmStandIn
from sandbox.aws.ssm_commands import Target


class Body(BytesIO):
    """A body as urllib3 has it."""

    def stream(self, **_: object) -> Any:  # noqa: ANN401 (botocore has no types)
        yield self.read()


class Wired:
    """The stand-in, a client for it, and how often each operation was called."""

    def __init__(self) -> None:
        self.empty()
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        settings = Config(retries={"mode": "standard", "total_max_attempts": 5})
        self.client = boto3.session.Session().client("ssm", region_name="eu-west-1", config=settings, **keys)
        self.client.meta.events.register("before-send.ssm", self._answer)

    def empty(self) -> None:
        """A stand-in that knows no instance."""
        self.ssm = SsmStandIn()
        self.calls: Counter[str] = Counter()

    def register(self, count: int, target: Target | None = None) -> list[str]:
        """New instances with this target; their IDs."""
        first = len(self.ssm.targets)
        names = [f"i-{number:017x}" for number in range(first, first + count)]
        self.ssm.targets |= dict.fromkeys(names, target or Target(output="{}"))
        return names

    def _answer(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        name = target.decode() if isinstance(target, bytes) else target
        self.calls[name.removeprefix(PREFIX)] += 1
        status, body = self.ssm.answer(name, request.body)
        return AWSResponse(request.url, status, {"Content-Type": "application/x-amz-json-1.1"}, Body(body))
