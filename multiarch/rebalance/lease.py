"""The Lease that lets one run at a time change a cluster, and that remembers what could not be moved.

As in client-go's leader election, another holder's times are not compared with this clock: its Lease has ended if
nobody has renewed it for as long as it lasts.
Source: https://pkg.go.dev/k8s.io/client-go/tools/leaderelection
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from multiarch.errors import MultiarchError
from multiarch.facts.rebalance import LEASE, LEASE_NAMESPACE, SET_ASIDE_ANNOTATION
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ConflictError
from multiarch.kubernetes.resources import LEASES
from multiarch.manifests.owners import WorkloadKey
from multiarch.rebalance.clock import Clock, Patience
from multiarch.rebalance.cordon import format_time

SECONDS = 90
"""How long the Lease lasts: longer than a request that changes something may take after it was renewed."""
RENEW_SECONDS = 15.0
SET_ASIDE = timedelta(hours=24)
"""How long a workload is left alone after one of its pods could not be moved."""
_LOOK_SECONDS = 3.0
_TRIES = 10
_ASIDE_PATH = f"/metadata/annotations/{SET_ASIDE_ANNOTATION.replace('/', '~1')}"


class LeaseHeldError(MultiarchError):
    """Another run is at work, or has taken over: this one changes nothing. ``holder`` is its name."""

    exit_code = 1

    def __init__(self, holder: str) -> None:
        """``holder`` as the Lease says."""
        super().__init__(
            f"Another run holds the Lease {LEASE_NAMESPACE}/{LEASE}: {holder}.", hint="Wait until it has ended."
        )
        self.holder = holder


class Lease:
    """The Lease as one run holds it. All methods raise ClusterError."""

    def __init__(self, cluster: KubernetesCluster, clock: Clock, run: str) -> None:
        """No request has been made yet."""
        self._cluster, self._clock, self._run = cluster, clock, run
        self._renewed = 0.0

    def acquire(self, patience: Patience, say: Callable[[str], None]) -> None:
        """Take the Lease. Raises LeaseHeldError if another run renews it.

        ``patience`` is for a cluster that has answered: one that does not answer the first request is not waited for.
        ``say`` is told that it waits, a sentence.
        """
        seen, since = None, self._clock.elapsed()
        found = self._read()
        while True:
            spec = (found or {}).get("spec") or {}
            holder, state = spec.get("holderIdentity") or "", (spec.get("holderIdentity"), spec.get("renewTime"))
            if holder == self._run:
                # The answer to the request that took it was lost.
                self._renewed = since
                return
            if found is None or not holder or (seen == state and self._has_ended(spec, since)):
                if patience.do(self._created if found is None else partial(self._taken, found)):
                    return
            elif seen not in (None, state) or self._clock.wait(_LOOK_SECONDS):
                raise LeaseHeldError(holder)
            else:
                if seen is None:
                    lasts = spec.get("leaseDurationSeconds") or SECONDS
                    say(f"Run {holder} holds the Lease: waiting for up to {lasts} s, in case it was killed.")
                seen = state
            found = patience.do(self._read)

    def renew(self) -> None:
        """Renew it if that is due. Raises LeaseHeldError if another run has it."""
        if self._clock.elapsed() - self._renewed >= RENEW_SECONDS:
            self._change([{"op": "add", "path": "/spec/renewTime", "value": self._time()}])

    def release(self) -> None:
        """Give it up, if this run has it."""
        try:
            self._change([{"op": "add", "path": "/spec/holderIdentity", "value": ""}])
        except LeaseHeldError:
            return

    def set_aside(self, workload: WorkloadKey, why: str) -> None:
        """Remember that a workload's pod could not be moved. Raises LeaseHeldError if another run has the Lease."""
        found = self._read() or {}
        kept = {key: row for key, row in _rows(found).items() if _since(row) > self._clock.now() - SET_ASIDE}
        kept[f"{workload.namespace}/{workload}"] = {"at": format_time(self._clock.now()), "why": why}
        text = json.dumps(dict(sorted(kept.items())), separators=(",", ":"))
        self._change([{"op": "add", "path": _ASIDE_PATH, "value": text}])

    def _read(self) -> dict[str, Any] | None:
        return self._cluster.get(LEASES, LEASE_NAMESPACE, LEASE)

    def _has_ended(self, spec: Mapping[str, Any], since: float) -> bool:
        return self._clock.elapsed() - since >= (spec.get("leaseDurationSeconds") or SECONDS)

    def _created(self) -> bool:
        value = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": LEASE, "namespace": LEASE_NAMESPACE, "annotations": {SET_ASIDE_ANNOTATION: "{}"}},
            "spec": self._spec(0),
        }
        try:
            self._cluster.create(LEASES, LEASE_NAMESPACE, value)
        except ConflictError:
            return False
        self._renewed = self._clock.elapsed()
        return True

    def _taken(self, found: Mapping[str, Any]) -> bool:
        changes = (found.get("spec") or {}).get("leaseTransitions") or 0
        operations = [{"op": "add", "path": "/spec", "value": self._spec(changes + 1)}]
        if not (found["metadata"].get("annotations") or {}):
            operations.append({"op": "add", "path": "/metadata/annotations", "value": {SET_ASIDE_ANNOTATION: "{}"}})
        try:
            self._patch(found, operations)
        except ConflictError:
            return False
        return True

    def _change(self, operations: list[dict[str, Any]]) -> None:
        for _ in range(_TRIES):
            found = self._read()
            holder = "" if found is None else (found.get("spec") or {}).get("holderIdentity") or ""
            if found is None or holder != self._run:
                raise LeaseHeldError(holder or "none, somebody released it")
            try:
                self._patch(found, operations)
            except ConflictError:
                continue
            return
        raise LeaseHeldError("it changes too often")

    def _patch(self, found: Mapping[str, Any], operations: list[dict[str, Any]]) -> None:
        began = self._clock.elapsed()
        version = found["metadata"]["resourceVersion"]
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
        self._cluster.patch(LEASES, LEASE_NAMESPACE, LEASE, [test, *operations])
        self._renewed = began

    def _spec(self, changes: int) -> dict[str, Any]:
        now = self._time()
        return {
            "holderIdentity": self._run,
            "leaseDurationSeconds": SECONDS,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": changes,
        }

    def _time(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_set_aside(cluster: KubernetesCluster, now: datetime) -> dict[WorkloadKey, str]:
    """Return the workloads that earlier runs could not move, with the reason, a clause. Raises ClusterError."""
    found = cluster.get(LEASES, LEASE_NAMESPACE, LEASE) or {}
    aside = {}
    for key, row in _rows(found).items():
        parts = key.split("/")
        if len(parts) == len(("namespace", "kind", "name")) and _since(row) > now - SET_ASIDE:
            aside[WorkloadKey(*parts)] = f"a run at {row['at']} could not move it: {row['why']}"
    return aside


def _rows(lease: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return what the annotation says, without what can't be read: anybody may have edited it."""
    try:
        rows = json.loads(((lease.get("metadata") or {}).get("annotations") or {}).get(SET_ASIDE_ANNOTATION) or "{}")
    except ValueError:
        return {}
    return {
        key: row
        for key, row in (rows.items() if isinstance(rows, dict) else ())
        if isinstance(row, dict) and isinstance(row.get("at"), str) and isinstance(row.get("why"), str)
    }


def _since(row: Mapping[str, str]) -> datetime:
    try:
        return datetime.fromisoformat(row["at"]).astimezone(UTC)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
