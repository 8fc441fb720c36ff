"""A cluster of two objects in a time that is simulated: runs start, wait for the API server, sleep, and are killed.

Each run is the real code in a thread of its own; only one thread goes on at a time, and which and when follows from the
delays alone. What each object held, and when, is kept.
"""

from __future__ import annotations

import base64
import heapq
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from multiarch.kubernetes.errors import ConflictError
from multiarch.kubernetes.resources import MUTATING_WEBHOOKS, SECRETS, Resource
from multiarch.webhook.certificates.inspection import authorities
from multiarch.webhook.certificates.rotation import Rules
from multiarch.webhook.certificates.run import Target, run

NAMES = ("webhook.hooks.svc", "webhook.hooks.svc.cluster.local")
RULES = Rules(NAMES)
TARGET = Target("hooks", "webhook-tls", "webhook")
START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86400.0
LATE = 120.0
"""Seconds until each replica serves what the Secret has: the kubelet's period and the server's own."""

Objects = dict[str, dict[str, Any]]


class KilledError(BaseException):
    """The process of a run ended."""


@dataclass(frozen=True)
class Start:
    """A run that starts at ``seconds``, with a clock that is off by ``skew``.

    ``killed`` is the API call (from 0) at which it ends, before it has an effect or (``after``) once it has. ``delays``
    are those of its API calls, over and over.
    """

    seconds: float
    killed: int | None = None
    after: bool = False
    skew: float = 0.0
    delays: Sequence[float] = (0.1,)


@dataclass(frozen=True)
class Held:
    """What an object had from ``since`` on, in seconds from the start."""

    since: float
    value: bytes


@dataclass
class Timeline:
    """The cluster. ``entries`` is the number of webhooks; None where there is no configuration yet."""

    entries: int | None = 2
    seconds: float = 0.0
    said: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    served: list[Held] = field(default_factory=list)
    bundles: list[Held] = field(default_factory=list)
    objects: Objects = field(default_factory=dict)
    _version: int = 0

    def __post_init__(self) -> None:
        self.put(SECRETS.kind, {"metadata": {"name": "webhook-tls"}, "type": "Opaque"})
        if self.entries is not None:
            self.register(self.entries)

    def register(self, entries: int) -> None:
        """Apply a configuration as the manifests have it, without ``caBundle``."""
        service = {"name": "webhook", "namespace": "hooks", "path": "/mutate"}
        rows = [{"name": f"{n}.example.com", "clientConfig": {"service": dict(service)}} for n in range(entries)]
        self.put(MUTATING_WEBHOOKS.kind, {"metadata": {"name": "webhook"}, "webhooks": rows})

    def put(self, kind: str, value: dict[str, Any]) -> None:
        """Write an object as somebody does who does not look at what was there."""
        self._version += 1
        value = deepcopy(value)
        value["metadata"]["resourceVersion"] = str(self._version)
        self.objects[kind] = value
        self._keep()

    def _keep(self) -> None:
        leaf = base64.b64decode((self.objects[SECRETS.kind].get("data") or {}).get("tls.crt", ""))
        if leaf and (not self.served or self.served[-1].value != leaf):
            self.served.append(Held(self.seconds, leaf))
        rows = self.objects.get(MUTATING_WEBHOOKS.kind, {}).get("webhooks", [])
        bundles = {base64.b64decode(row["clientConfig"].get("caBundle", "")) for row in rows}
        if len(bundles) == 1 and (not self.bundles or self.bundles[-1].value != next(iter(bundles))):
            self.bundles.append(Held(self.seconds, bundles.pop()))

    @property
    def bundle(self) -> list[bytes]:
        """The CAs that every entry trusts now."""
        rows = self.objects[MUTATING_WEBHOOKS.kind]["webhooks"]
        (found,) = {base64.b64decode(row["clientConfig"].get("caBundle", "")) for row in rows}
        return authorities([found], START)

    def get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any] | None:
        """As the API server."""
        assert (namespace, name) == ((None, "webhook") if resource is MUTATING_WEBHOOKS else ("hooks", "webhook-tls"))
        return deepcopy(self.objects.get(resource.kind))

    def patch(
        self, resource: Resource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        """As the API server: the first operation tests the version, the others add."""
        found = self.get(resource, namespace, name)
        assert found is not None
        test, *rest = operations
        assert (test["op"], test["path"]) == ("test", "/metadata/resourceVersion")
        if test["value"] != found["metadata"]["resourceVersion"]:
            raise ConflictError(f"{resource.kind} {name} was changed meanwhile.")
        for operation in rest:
            *way, last = operation["path"].split("/")[1:]
            there: Any = found
            for part in way:
                there = there[int(part) if isinstance(there, list) else part]
            assert operation["op"] == "add"
            there[last] = operation["value"]
        self.put(resource.kind, found)

    def play(self, *starts: Start, events: Sequence[tuple[float, Callable[[], None]]] = ()) -> None:
        """Let runs and events happen; their times are seconds from now."""
        order = itertools.count()
        due: list[tuple[float, int, Callable[[], Iterator[float]]]] = []
        for start in starts:
            heapq.heappush(due, (self.seconds + start.seconds, next(order), _Run(self, start).go_on))
        for seconds, event in events:
            happen: Callable[[], Iterator[float]] = partial(_happen, event)
            heapq.heappush(due, (self.seconds + seconds, next(order), happen))
        while due:
            self.seconds, _, go_on = heapq.heappop(due)
            for pause in go_on():
                heapq.heappush(due, (self.seconds + pause, next(order), go_on))


def _happen(event: Callable[[], None]) -> Iterator[float]:
    event()
    yield from ()


class _Run(threading.Thread):
    """A run: it stops before each API call and each sleep until its time has come."""

    def __init__(self, world: Timeline, start: Start) -> None:
        super().__init__(daemon=True)
        self._world, self._start = world, start
        self._calls = 0
        self._pause: float | None = None
        self._may, self._stopped = threading.Semaphore(0), threading.Semaphore(0)

    def go_on(self) -> Iterator[float]:
        """Go on to the next stop; yields for how long it then stops, nothing at its end."""
        if not self.is_alive():
            self.start()
        self._may.release()
        self._stopped.acquire()
        if self._pause is not None:
            yield self._pause

    def run(self) -> None:
        self._may.acquire()
        try:
            run(self, TARGET, RULES, self, self._world.said.append)
        except KilledError:
            pass
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            self._world.errors.append(f"{type(error).__name__}: {error}")
        self._pause = None
        self._stopped.release()

    def sleep(self, seconds: float) -> None:
        self._pause = seconds
        self._stopped.release()
        self._may.acquire()

    def now(self) -> datetime:
        return START + timedelta(seconds=self._world.seconds + self._start.skew)

    def _called(self, work: Callable[[], Any]) -> Any:  # noqa: ANN401
        start, number = self._start, self._calls
        self._calls += 1
        self.sleep(start.delays[number % len(start.delays)])
        if number == start.killed and not start.after:
            raise KilledError
        answer = work()
        if number == start.killed:
            raise KilledError
        return answer

    def get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._called(lambda: self._world.get(resource, namespace, name))
        return found

    def patch(
        self, resource: Resource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        self._called(lambda: self._world.patch(resource, namespace, name, operations))


def untrusted(world: Timeline, *, since: float = 0.0) -> list[str]:
    """The moments at which a replica may have served what an API server did not trust, from ``since`` on.

    Any replica may serve what the Secret held in the last :data:`LATE` seconds, and any API server may know the
    bundle that was there up to ``TARGET.settle`` seconds ago. That there was none before the first does not count.
    """
    found = []
    bundles = [each for each in _until(world.bundles, TARGET.settle, world.seconds) if each[0].value or each[0].since]
    for leaf, leaf_end in _until(world.served, LATE, world.seconds):
        for bundle, bundle_end in bundles:
            begin, end = max(leaf.since, bundle.since, since), min(leaf_end, bundle_end)
            if begin < end and not trusts(bundle.value, leaf.value):
                found.append(f"from {begin} to {end} s")
    return found


def expired(world: Timeline) -> list[str]:
    """The certificates that were served, or may still have been, before or after they were valid."""
    found = []
    for leaf, end in _until(world.served, LATE, world.seconds):
        certificate = x509.load_pem_x509_certificate(leaf.value)
        first, last = START + timedelta(seconds=leaf.since), START + timedelta(seconds=end)
        if not certificate.not_valid_before_utc <= first <= last <= certificate.not_valid_after_utc:
            found.append(f"{certificate.not_valid_before_utc} to {certificate.not_valid_after_utc}: {first} to {last}")
    return found


def _until(held: Sequence[Held], late: float, end: float) -> Iterator[tuple[Held, float]]:
    """Each value with the time until which it may still be seen."""
    for each, following in itertools.zip_longest(held, held[1:]):
        yield each, end if following is None else min(end, following.since + late)


@cache
def trusts(bundle: bytes, leaf: bytes) -> bool:
    """Whether a CA of the bundle signed the certificate."""
    certificate = x509.load_pem_x509_certificate(leaf)
    for authority in authorities([bundle], START):
        try:
            certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))
        except (ValueError, InvalidSignature):
            continue
        return True
    return False
