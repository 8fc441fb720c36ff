"""One run: read both objects, do the next step, and again until nothing is left to do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from multiarch.errors import OutsideError
from multiarch.kubernetes.errors import ConflictError
from multiarch.kubernetes.resources import MUTATING_WEBHOOKS, SECRETS, Resource
from multiarch.webhook.certificates import objects
from multiarch.webhook.certificates.issuing import issue
from multiarch.webhook.certificates.rotation import Done, Issue, Mark, Rules, Serve, Trust, next_step

_STEPS = 50
"""The most steps of a run, conflicts included: more means that something else changes the objects all the time."""
_AGAIN = 0.2
"""Seconds after a conflict."""
_PAUSE = 2.0
"""Seconds between two looks for a MutatingWebhookConfiguration that is about to be created."""


class Objects(Protocol):
    """What a run needs of :class:`multiarch.kubernetes.cluster.Cluster`."""

    def get(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any] | None:
        """One object, or None if it does not exist."""
        ...

    def patch(
        self, resource: Resource, namespace: str | None, name: str, operations: Sequence[Mapping[str, Any]]
    ) -> None:
        """Change one object. Raises ConflictError if it was changed meanwhile."""
        ...


class Clock(Protocol):
    """The time, and waiting."""

    def now(self) -> datetime:
        """The time in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The Secret and the MutatingWebhookConfiguration by their names, and how long to wait.

    ``settle``: seconds until all API servers have seen a change of the configuration. ``patience``: seconds to wait
    for the configuration to be created.
    """

    namespace: str
    secret: str
    configuration: str
    settle: float = 15.0
    patience: float = 540.0


def run(cluster: Objects, target: Target, rules: Rules, clock: Clock, say: Callable[[str], None]) -> None:
    """Issue or rotate what is due; ``say`` is told each change, and at the end until when nothing is due.

    Raises OutsideError if an object does not exist, or is changed by something else all the time; and what ``cluster``
    raises.
    """
    _Run(cluster, target, rules, clock, say).all_steps()


class _Run:
    def __init__(
        self, cluster: Objects, target: Target, rules: Rules, clock: Clock, say: Callable[[str], None]
    ) -> None:
        self._cluster, self._target, self._rules, self._clock, self._say = cluster, target, rules, clock, say
        self._settled: tuple[str, bytes] | None = None
        """The configuration's version and the next certificate that the API servers had time to learn of."""

    def all_steps(self) -> None:
        for _ in range(_STEPS):
            try:
                if self._step():
                    return
            except ConflictError:
                self._clock.sleep(_AGAIN)
        target = self._target
        raise OutsideError(
            f"Secret {target.namespace}/{target.secret} or MutatingWebhookConfiguration {target.configuration} changes "
            f"all the time: {_STEPS} steps were not enough.",
            hint="Check that the Secret is not immutable, and that nothing else writes data or caBundle.",
        )

    def _step(self) -> bool:
        """Do one step; whether there is nothing left to do."""
        target, now = self._target, self._clock.now()
        # In this order: see multiarch.webhook.certificates.rotation.
        configuration = self._cluster.get(MUTATING_WEBHOOKS, None, target.configuration)
        secret = self._cluster.get(SECRETS, target.namespace, target.secret)
        if secret is None:
            raise OutsideError(
                f"There is no Secret {target.namespace}/{target.secret}.",
                hint="Apply the webhook's objects again: they have it, without data.",
            )
        state = objects.state(configuration, secret)
        match next_step(state, self._rules, now):
            case Issue(reason):
                self._write(objects.issued(secret, issue(self._rules.names, now, self._rules.lifetime)))
                self._say(f"Issued a certificate for {self._rules.names[0]}: {reason}.")
            case Trust(bundle, adds) if configuration is not None:
                self._cluster.patch(
                    MUTATING_WEBHOOKS, None, target.configuration, objects.trusted(configuration, bundle)
                )
                what = "Added the CA to" if adds else "Removed CAs that are no longer needed from"
                self._say(f"{what} MutatingWebhookConfiguration {target.configuration}.")
            case Serve(waits) if state.pending is not None:
                version = str(configuration["metadata"]["resourceVersion"]) if configuration else ""
                if waits and self._settled != (version, state.pending.certificate):
                    self._clock.sleep(target.settle)
                    self._settled = version, state.pending.certificate
                    return False
                self._write(objects.served(secret, state.pending, now))
                self._say(f"Secret {target.namespace}/{target.secret} has the new certificate.")
            case Mark():
                self._write(objects.marked(secret, now))
            case Done(renewal, expiry) if configuration is not None:
                self._say(f"The certificate ends on {expiry:%Y-%m-%d}, and is renewed from {renewal:%Y-%m-%d} on.")
                return True
            case _:
                self._wait_for_configuration()
        return False

    def _write(self, operations: Sequence[Mapping[str, Any]]) -> None:
        self._cluster.patch(SECRETS, self._target.namespace, self._target.secret, operations)

    def _wait_for_configuration(self) -> None:
        target, waited = self._target, 0.0
        self._say(f"Waiting for MutatingWebhookConfiguration {target.configuration} to be created.")
        while self._cluster.get(MUTATING_WEBHOOKS, None, target.configuration) is None:
            if waited >= target.patience:
                raise OutsideError(
                    f"There is no MutatingWebhookConfiguration {target.configuration}: the certificate is issued, and "
                    "the API server does not know its CA yet.",
                    hint="Apply the webhook's objects again.",
                )
            self._clock.sleep(_PAUSE)
            waited += _PAUSE


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
