"""What the sandbox and its tests set in the running AWS server, over HTTP beside the AWS APIs.

PUT    /sandbox/ssm/targets/i-…   a Target as JSON: the instance has an SSM agent now
PUT    /sandbox/ssm/faults        Faults as JSON
PUT    /sandbox/console/i-…       text: the instance's console output
PUT    /sandbox/ec2/shortages     Shortages as JSON: where fleets get no instances
PUT    /sandbox/ec2/spot-prices   spot prices by instance type and zone, as JSON
GET    /sandbox/calls             every AWS request so far, as [service, operation]
DELETE /sandbox/calls             forget them
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qs

import urllib3

from sandbox.aws import ec2_fixes, fleets
from sandbox.aws.fleets import Shortage
from sandbox.aws.shapes import model
from sandbox.aws.ssm import SsmStandIn
from sandbox.aws.ssm_targets import Faults, Target

__all__ = ["PREFIX", "Controls", "Remote"]

PREFIX: Final = "/sandbox/"


class Controls:
    """The server's side: what was set, and which requests came."""

    def __init__(self) -> None:
        """Nothing is set."""
        self.ssm = SsmStandIn()
        self._calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def empty(self) -> None:
        """Back to the beginning."""
        self.ssm.empty()
        ec2_fixes.CONSOLES.clear()
        fleets.SHORTAGES.clear()
        fleets.SPOT_PRICES.clear()
        self._calls.clear()

    def record(self, service: str, environ: dict[str, Any], body: bytes) -> None:
        """Remember one AWS request."""
        with self._lock:
            self._calls.append((service, _operation(service, environ, body)))

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Answer a request of this module's interface."""
        match method, path.removeprefix(PREFIX).split("/"):
            case "PUT", ["ssm", "targets", instance]:
                self.ssm.targets[instance] = Target.from_json(json.loads(body))
            case "PUT", ["ssm", "faults"]:
                self.ssm.faults = Faults.from_json(body)
            case "PUT", ["console", instance]:
                ec2_fixes.CONSOLES[instance] = body.decode()
            case "PUT", ["ec2", "shortages"]:
                fleets.SHORTAGES[:] = [fleets.Shortage(**each) for each in json.loads(body)]
            case "PUT", ["ec2", "spot-prices"]:
                fleets.SPOT_PRICES.clear()
                fleets.SPOT_PRICES.update(json.loads(body))
            case "GET", ["calls"]:
                return 200, json.dumps(self._calls).encode()
            case "DELETE", ["calls"]:
                self._calls.clear()
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
        self._request("PUT", f"ssm/targets/{instance}", json.dumps(target.to_json()).encode())

    def set_faults(self, faults: Faults) -> None:
        """What the SSM API does wrong from now on."""
        self._request("PUT", "ssm/faults", json.dumps(asdict(faults)).encode())

    def set_console(self, instance: str, text: str) -> None:
        """The instance's console output."""
        self._request("PUT", f"console/{instance}", text.encode())

    def set_shortages(self, *shortages: Shortage) -> None:
        """Where fleets get no instances from now on; none to have capacity everywhere."""
        self._request("PUT", "ec2/shortages", json.dumps([asdict(each) for each in shortages]).encode())

    def set_spot_prices(self, prices: Mapping[str, Mapping[str, str]]) -> None:
        """What an hour of a spot instance costs, by instance type and zone; what is left out is not sold."""
        self._request("PUT", "ec2/spot-prices", json.dumps(prices).encode())

    def calls(self) -> Counter[str]:
        """How often each operation was called: ``ssm:SendCommand``."""
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


def _operation(service: str, environ: dict[str, Any], body: bytes) -> str:
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if target:
        return str(target.rpartition(".")[2])
    action = parse_qs(body.decode(errors="replace")).get("Action") if body[:1] not in (b"", b"{") else None
    if action:
        return action[0]
    asked = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
    return next((name for name, pattern in _routes(service) if pattern.fullmatch(asked)), asked)


@cache
def _routes(service: str) -> list[tuple[str, re.Pattern[str]]]:
    """The operations of a REST service, with patterns for ``METHOD PATH``; fixed paths come before variable ones."""
    if service != "eks":
        return []
    operations = [model(service).operation_model(name) for name in model(service).operation_names]
    rows = [(each.name, f"{each.http['method']} {each.http['requestUri'].partition('?')[0]}") for each in operations]
    rows.sort(key=lambda row: (row[1].count("{"), row[1]))
    return [
        (name, re.compile(re.sub(r"\\\{[^}]*\\\}", r".+" if "Arn" in path else r"[^/]+", re.escape(path))))
        for name, path in rows
    ]
