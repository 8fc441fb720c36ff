"""The next step of a rotation, from what the two objects hold: nothing else is remembered between steps and runs.

Every step is one write to one object, refused if that object changed since it was read. So a run may be killed after
any step, and two may run at once. For that, the MutatingWebhookConfiguration has to be read before the Secret: what its
bundle has and the Secret does not was then not about to be served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from multiarch.webhook.certificates.inspection import authorities, expiry, fault, renewal
from multiarch.webhook.certificates.issuing import SKEW, Pair

KEPT = 10
"""The most CAs that stay in a bundle without being needed. One is usual; a Secret that is often emptied makes more."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The DNS names to serve; how long a certificate lives; how long an old CA stays trusted after a rotation.

    ``overlap`` is several times what replicas need to reload: clocks of two runs may differ by an hour or two.
    """

    names: tuple[str, ...]
    lifetime: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class State:
    """What the objects hold. ``rotated`` is when ``served`` took the place of another certificate.

    ``bundles`` has the ``caBundle`` of each entry; it is None if there is no MutatingWebhookConfiguration.
    """

    served: Pair | None = None
    pending: Pair | None = None
    rotated: datetime | None = None
    bundles: tuple[bytes, ...] | None = None


@dataclass(frozen=True, slots=True)
class Issue:
    """Write a new certificate into the Secret as the next one. ``reason`` completes "a certificate is issued: …"."""

    reason: str


@dataclass(frozen=True, slots=True)
class Trust:
    """Write ``bundle`` into every entry, which adds CAs (``adds``), or only removes some."""

    bundle: bytes
    adds: bool


@dataclass(frozen=True, slots=True)
class Serve:
    """Make the next certificate the one that is served.

    ``waits``: replicas may serve another one now, so that every API server must have seen the new CA before.
    """

    waits: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """Write down now as the time of the last rotation, which is not known."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left to do before ``renewal``; the certificate ends with ``expiry``."""

    renewal: datetime
    expiry: datetime


Step = Issue | Trust | Serve | Mark | Done


def next_step(state: State, rules: Rules, now: datetime) -> Step:
    """What to do next. Doing it, reading both objects again and asking again ends with :class:`Done`."""
    served, reason = _usable(state.served, rules, now)
    pending, unfit = _usable(state.pending, rules, now)
    if unfit:
        pending = None
    if pending is None and reason:
        return Issue(reason)
    wanted, extra = _bundle(state, served, pending, now)
    if pending is None and extra:
        if state.rotated is None or state.rotated > now + SKEW:
            return Mark()
        if now >= state.rotated + rules.overlap:
            wanted = wanted[: -len(extra)]
    bundle = b"".join(wanted)
    if any(each != bundle for each in state.bundles or ()):
        needed = [each for each in wanted if each not in extra]
        return Trust(bundle, adds=any(need not in each for each in state.bundles or () for need in needed))
    if pending is not None:
        return Serve(waits=any(each != pending.authority for each in state.bundles or ()))
    if served is None:
        raise AssertionError("a certificate without a reason to issue another is served")
    return Done(renewal(served), expiry(served))


def _usable(pair: Pair | None, rules: Rules, now: datetime) -> tuple[Pair | None, str]:
    """The pair if it has no fault, and why another one is issued, if it is."""
    if pair is None:
        return None, "there is none"
    if found := fault(pair, rules.names, now):
        return None, f"the one there {found}"
    if now >= renewal(pair):
        return pair, f"the one there ends on {expiry(pair):%Y-%m-%d}"
    return pair, ""


def _bundle(
    state: State, served: Pair | None, pending: Pair | None, now: datetime
) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """The CAs of a bundle in their order, and those among them that only replicas of an earlier rotation may need."""
    needed = list(dict.fromkeys(pair.authority for pair in (served, pending) if pair is not None))
    there = authorities(state.bundles or (), now)
    extra = [each for each in there if each not in needed][:KEPT]
    return [*needed, *extra], extra
