"""What the sandbox and its tests set in the running AWS server, over HTTP beside the AWS APIs.

PUT    /sandbox/ssm/targets/i-…   a Target as JSON: the instance has an SSM agent now
PUT    /sandbox/console/i-…       text: the instance's console output
PUT    /sandbox/ec2/shortages     Shortages as JSON: where fleets get no instances
PUT    /sandbox/ec2/spot-prices   spot prices by instance type and zone, as JSON
GET    /sandbox/calls             every AWS request so far, as [service, operation]
DELETE /sandbox/calls             forget them
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

import urllib3
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import BaseResponse

from sandbox.aws import ec2_fixes, fleets
from sandbox.aws.fleets import Shortage
from sandbox.aws.ssm import SsmStandIn
from sandbox.aws.ssm_commands import Target

__all__ = ["PREFIX", "Controls", "Remote"]

PREFIX: Final = "/sandbox/"
_moto_call_action = BaseResponse.call_action


class Controls:
    """The server's side: what was set, and which requests came. Make one for each process: it patches moto."""

    def __init__(self) -> None:
        """Set nothing, and record moto's requests."""
        self.ssm = SsmStandIn()
        self.calls: list[tuple[str, str]] = []

        def call_action(response: BaseResponse) -> TYPE_RESPONSE:
            self.calls.append((response.boto3_service_name, response._get_action()))  # noqa: SLF001 (moto shows it nowhere else)
            return _moto_call_action(response)

        BaseResponse.call_action = call_action  # type: ignore[method-assign, assignment]

    def empty(self) -> None:
        """Forget everything."""
        self.ssm.empty()
        ec2_fixes.CONSOLES.clear()
        fleets.SHORTAGES.clear()
        fleets.SPOT_PRICES.clear()
        self.calls.clear()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer a request of this module's interface."""
        match method, path.removeprefix(PREFIX).split("/"):
            case "PUT", ["ssm", "targets", instance]:
                self.ssm.targets[instance] = Target(**json.loads(body))
            case "PUT", ["console", instance]:
                ec2_fixes.CONSOLES[instance] = body.decode()
            case "PUT", ["ec2", "shortages"]:
                fleets.SHORTAGES[:] = [Shortage(**each) for each in json.loads(body)]
            case "PUT", ["ec2", "spot-prices"]:
                fleets.SPOT_PRICES.clear()
                fleets.SPOT_PRICES.update(json.loads(body))
            case "GET", ["calls"]:
                return 200, json.dumps(self.calls).encode()
            case "DELETE", ["calls"]:
                self.calls.clear()
            case _:
                return 404, b"not found"
        return 200, b""


class Remote:
    """The same over HTTP, for whoever started the server at ``endpoint``."""

    def __init__(self, endpoint: str) -> None:
        """``endpoint`` as the server prints it: ``http://127.0.0.1:PORT``."""
        self._endpoint = endpoint
        self._http = urllib3.PoolManager()

    def register(self, instance: str, target: Target) -> None:
        """Give an instance an SSM agent, or change it."""
        self._request("PUT", f"ssm/targets/{instance}", json.dumps(asdict(target)).encode())

    def set_console(self, instance: str, text: str) -> None:
        """Set the instance's console output."""
        self._request("PUT", f"console/{instance}", text.encode())

    def set_shortages(self, *shortages: Shortage) -> None:
        """Set where fleets get no instances from now on; none to have capacity everywhere."""
        self._request("PUT", "ec2/shortages", json.dumps([asdict(each) for each in shortages]).encode())

    def set_spot_prices(self, prices: Mapping[str, Mapping[str, str]]) -> None:
        """Set prices of an hour of spot instances, by type and zone; what is omitted is not sold."""
        self._request("PUT", "ec2/spot-prices", json.dumps(prices).encode())

    def calls(self) -> Counter[str]:
        """Return how often each operation was called: ``ssm:SendCommand``."""
        rows = json.loads(self._request("GET", "calls"))
        return Counter(f"{service}:{operation}" for service, operation in rows)

    def forget_calls(self) -> None:
        """Count from zero."""
        self._request("DELETE", "calls")

    def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        answer = self._http.request(method, f"{self._endpoint}{PREFIX}{path}", body=body)
        if answer.status != 200:  # noqa: PLR2004 (OK)
            raise ValueError(f"{method} {path}: {answer.status} {answer.data.decode(errors='replace')[-500:]}")
        return answer.data
