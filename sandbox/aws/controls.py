"""What the sandbox and its tests set in the running AWS server, over HTTP beside the AWS APIs.

PUT    /sandbox/ssm/targets/i-…   a Target as JSON: the instance has an SSM agent now
PUT    /sandbox/console/i-…       text: the instance's console output
PUT    /sandbox/ec2/shortages     Shortages as JSON: where fleets get no instances
PUT    /sandbox/ec2/spot-prices   spot prices by instance type and zone, as JSON
PUT    /sandbox/kubernetes/down   seconds: for so long the clusters' API servers answer 503
PUT    /sandbox/kubernetes/leads-to   endpoint and certificate authority of clusters from now on, as JSON
GET    /sandbox/kubernetes/CLUSTER/…  what such an API server answers (``cluster_api.py``)
PUT    /sandbox/faults            what goes wrong from now on, as JSON: quotas, failures (``faults.py``)
GET    /sandbox/faults            the same
GET    /sandbox/calls             every AWS request so far, as [service, operation]
GET    /sandbox/changes           how many requests so far may have changed something
DELETE /sandbox/calls             forget them
"""

from __future__ import annotations

import json
from dataclasses import asdict

from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import BaseResponse

from sandbox.aws import cluster_api, ec2_fixes, faults, fleets
from sandbox.aws.faults import Failure
from sandbox.aws.fleets import Shortage
from sandbox.aws.remote import PREFIX
from sandbox.aws.ssm import SsmStandIn
from sandbox.aws.ssm_commands import Target

_moto_call_action = BaseResponse.call_action
_READS = ("Describe", "Get", "List", "Receive")
"""How the names of operations begin that change nothing."""


class Controls:
    """The server's side: what was set, and which requests came. Make one for each process: it patches moto."""

    def __init__(self) -> None:
        """Set nothing, and record moto's requests."""
        self.ssm = SsmStandIn()
        self.calls: list[tuple[str, str]] = []
        self.changes = 0

        def call_action(response: BaseResponse) -> TYPE_RESPONSE:
            operation = response._get_action()  # noqa: SLF001 (moto shows it nowhere else)
            self.calls.append((response.boto3_service_name, operation))
            self.changes += not operation.startswith(_READS)
            return _moto_call_action(response)

        BaseResponse.call_action = call_action  # type: ignore[method-assign, assignment]

    def empty(self) -> None:
        """Forget everything."""
        self.ssm.empty()
        ec2_fixes.CONSOLES.clear()
        fleets.SHORTAGES.clear()
        fleets.SPOT_PRICES.clear()
        faults.empty()
        cluster_api.API.empty()
        self.calls.clear()
        self.changes += 1

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
            case "PUT", ["faults"]:
                wanted = json.loads(body)
                faults.empty()
                faults.QUOTAS.update(wanted["quotas"])
                faults.FAILURES.extend(Failure(**each) for each in wanted["failures"])
            case "GET", ["faults"]:
                told = {"failures": [asdict(each) for each in faults.FAILURES], "quotas": faults.QUOTAS}
                return 200, json.dumps(told).encode()
            case _, ["kubernetes", first, *rest]:
                return cluster_api.API.answer(method, first, "/".join(rest), body)
            case "GET", ["calls" | "changes" as which]:
                return 200, json.dumps(self.calls if which == "calls" else self.changes).encode()
            case "DELETE", ["calls"]:
                self.calls.clear()
            case _:
                return 404, b"not found"
        return 200, b""
