"""The sandbox's AWS server over HTTP, for other processes: what a test or a demo does behind Pulumi's back.

moto takes more than a second to import, so this module has the types of what it sends for annotations alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import urllib3

if TYPE_CHECKING:
    from sandbox.aws.faults import Failure
    from sandbox.aws.fleets import Shortage
    from sandbox.aws.ssm_commands import Target

PREFIX: Final = "/sandbox/"


class Remote:
    """What ``sandbox/aws/controls.py`` answers, for whoever started the server at ``endpoint``."""

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

    def set_faults(self, *failures: Failure, quotas: Mapping[str, float] | None = None) -> None:
        """Set what goes wrong from now on, in place of what went wrong before; nothing without arguments."""
        wanted = {"failures": [asdict(each) for each in failures], "quotas": quotas or {}}
        self._request("PUT", "faults", json.dumps(wanted).encode())

    def set_kubernetes_down(self, seconds: float) -> None:
        """Let the API servers of all clusters answer 503 for some time from now; 0 ends it."""
        self._request("PUT", "kubernetes/down", str(seconds).encode())

    def lead_clusters_to(self, endpoint: str, authority: str) -> None:
        """Give clusters that are created from now on another API server; ``authority`` is PEM in base64."""
        self._request("PUT", "kubernetes/leads-to", json.dumps([endpoint, authority]).encode())

    def calls(self) -> Counter[str]:
        """Return how often each operation was called: ``ssm:SendCommand``."""
        rows = json.loads(self._request("GET", "calls"))
        return Counter(f"{service}:{operation}" for service, operation in rows)

    def changes(self) -> int:
        """Return how many requests may have changed something: it costs much less than a query of a service."""
        return int(self._request("GET", "changes"))

    def forget_calls(self) -> None:
        """Count from zero."""
        self._request("DELETE", "calls")

    def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        answer = self._http.request(method, f"{self._endpoint}{PREFIX}{path}", body=body)
        if answer.status != 200:  # noqa: PLR2004 (OK)
            raise ValueError(f"{method} {path}: {answer.status} {answer.data.decode(errors='replace')[-500:]}")
        return answer.data
