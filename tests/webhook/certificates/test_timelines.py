"""At every moment of any timeline, each API server trusts what each replica serves."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.kubernetes.resources import MUTATING_WEBHOOKS, SECRETS
from multiarch.webhook.certificates.issuing import SKEW
from tests.webhook.certificates.timeline import DAY, LATE, RULES, TARGET, Start, Timeline, expired, untrusted

RENEWAL = 61 * DAY
"""Later than a certificate of 90 days is renewed, and before it ends."""
CALLS = 14
"""At least the API calls of a rotation."""


def rotated(world: Timeline) -> bool:
    return "Secret hooks/webhook-tls has the new certificate." in world.said


def installed() -> Timeline:
    world = Timeline()
    world.play(Start(0))
    assert rotated(world)
    world.said.clear()
    return world


def test_a_first_run_issues_and_registers_at_once() -> None:
    world = Timeline()
    world.play(Start(0))
    assert world.errors == untrusted(world) == expired(world) == []
    assert (len(world.served), len(world.bundle)) == (1, 1)
    assert world.seconds < TARGET.settle
    assert [line.partition(":")[0].partition(" on ")[0] for line in world.said] == [
        "Issued a certificate for webhook.hooks.svc",
        "Added the CA to MutatingWebhookConfiguration webhook.",
        "Secret hooks/webhook-tls has the new certificate.",
        "The certificate ends",
    ]


def test_without_a_registration_the_pods_get_their_certificate_and_the_run_waits_for_it() -> None:
    world = Timeline(entries=None)
    world.play(Start(0), events=[(60, lambda: world.register(3))])
    assert world.errors == []
    assert world.served[0].since < 10
    assert len(world.bundle) == 1
    assert 60 < world.seconds < 70


def test_a_registration_that_never_comes_is_an_error() -> None:
    world = Timeline(entries=None)
    world.play(Start(0))
    (error,) = world.errors
    assert "There is no MutatingWebhookConfiguration webhook" in error
    assert world.served
    world.register(2)
    world.play(Start(0))
    assert (len(world.served), len(world.bundle)) == (1, 1)


def test_a_run_before_renewal_changes_nothing() -> None:
    world = installed()
    before = world.objects
    for _ in range(3):
        world.play(Start(10 * DAY))
    assert world.objects == before
    assert {line.partition(" on ")[0] for line in world.said} == {"The certificate ends"}


def test_a_rotation_keeps_the_old_ca_until_the_run_after_the_overlap() -> None:
    world = installed()
    world.play(Start(RENEWAL))
    assert rotated(world)
    assert (len(world.served), len(world.bundle)) == (2, 2)
    world.play(Start(RULES.overlap.total_seconds() / 2))
    assert len(world.bundle) == 2
    world.play(Start(DAY))
    assert len(world.bundle) == 1
    assert world.said[-2] == "Removed CAs that are no longer needed from MutatingWebhookConfiguration webhook."
    assert world.errors == untrusted(world) == expired(world) == []


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", range(CALLS))
@pytest.mark.parametrize("first", [True, False])
def test_a_run_that_is_killed_at_any_call_is_completed_by_the_next(first: bool, call: int, after: bool) -> None:  # noqa: FBT001
    world = Timeline() if first else installed()
    world.play(Start(RENEWAL, killed=call, after=after))
    world.play(Start(30), Start(DAY))
    world.play(Start(DAY))
    assert world.errors == untrusted(world) == expired(world) == []
    assert (len(world.served), len(world.bundle)) == (1 if first else 2, 1)


def test_the_calls_of_a_rotation_are_all_killed_above() -> None:
    world = installed()
    world.play(Start(RENEWAL, killed=CALLS))
    assert rotated(world)


def test_two_runs_at_once_make_one_rotation() -> None:
    for world in (Timeline(), installed()):
        world.said.clear()
        world.play(*(Start(RENEWAL, delays=(0.1, 0.3)), Start(RENEWAL, delays=(0.2,))))
        world.play(Start(DAY))
        assert world.errors == untrusted(world) == []
        assert sum("has the new certificate" in line for line in world.said) == 1
        assert len(world.bundle) == 1


def test_a_run_that_read_before_a_rotation_does_not_take_its_ca_away() -> None:
    """The second run reads before the first one writes, by its clock nothing is due, and it writes at the worst moment.

    The first run's calls are 0.1 s apart; it reads for the last time at 16.0 s, and lets the certificate be served at
    16.1 s.
    """
    world = installed()
    due = (RULES.lifetime + SKEW).total_seconds() * 2 / 3 - SKEW.total_seconds() + 60
    world.play(Start(due), Start(due, skew=-1800, delays=(0.05, 0.95, 15.05)))
    assert rotated(world)
    assert world.errors == untrusted(world) == []


def test_a_next_certificate_that_was_left_for_months_is_not_served() -> None:
    world = installed()
    world.play(Start(RENEWAL, killed=2, after=True))
    assert world.said == []
    world.play(Start(70 * DAY))
    assert len(world.served) == 2
    assert world.errors == []


delays = st.lists(st.sampled_from([0.0, 0.1, 0.2, 1.0, 7.0, 40.0]), min_size=1, max_size=5)
cut_off = st.builds(
    Start,
    seconds=st.floats(0, 5),
    killed=st.integers(0, CALLS),
    after=st.booleans(),
    skew=st.sampled_from([0.0, -1800.0, 1800.0]),
    delays=delays,
)
whole = st.builds(Start, seconds=st.floats(0, 5), skew=st.sampled_from([0.0, -1800.0, 1800.0]), delays=delays)
days = st.tuples(st.sampled_from([0.0, 60.0, 4000.0, DAY, 8 * DAY, 25 * DAY]), st.lists(cut_off, max_size=3), whole)


@given(st.lists(days, min_size=1, max_size=12))
def test_every_api_server_trusts_every_replica_at_every_moment(
    timeline: list[tuple[float, list[Start], Start]],
) -> None:
    world = Timeline()
    for gap, killed, done in timeline:
        world.seconds += gap
        world.play(*killed, done)
        assert world.errors == []
    assert untrusted(world) == expired(world) == []
    assert world.served
    world.play(Start(DAY), Start(2 * DAY), Start(3 * DAY))
    if len(world.bundle) > 1:
        # A renewal was due in these days.
        world.play(Start(DAY), Start(2 * DAY), Start(3 * DAY))
    assert len(world.bundle) == 1


DATA: dict[str, dict[str, str | None]] = {
    "other key": {"tls.key": "bm90IGEga2V5"},
    "no CA": {"ca.crt": None},
    "not base64": {"tls.crt": "%"},
    "odd time": {"rotated": "MjEyMC0wMS0wMVQwMDowMDowMFo="},
    "no time": {"rotated": None},
}
"""Changes of the Secret's data."""
DAMAGES = [*DATA, "empty Secret", "empty bundle", "odd bundle", "new entry"]


def damage(world: Timeline, what: str) -> None:
    """What somebody does to the objects."""
    secret, registered = deepcopy(world.objects[SECRETS.kind]), deepcopy(world.objects[MUTATING_WEBHOOKS.kind])
    changed = {**secret.get("data", {}), **DATA.get(what, {})}
    secret["data"] = {key: value for key, value in changed.items() if value and what != "empty Secret"}
    for row in registered["webhooks"]:
        if what == "empty bundle":
            row["clientConfig"].pop("caBundle", None)
    if what == "odd bundle":
        registered["webhooks"][0]["clientConfig"]["caBundle"] = "Cg=="
    if what == "new entry":
        registered["webhooks"].append({"name": "new.example.com", "clientConfig": {"service": {}}})
    world.put(SECRETS.kind, secret)
    world.put(MUTATING_WEBHOOKS.kind, registered)


@pytest.mark.parametrize("rotating", [False, True])
@pytest.mark.parametrize("what", DAMAGES)
def test_what_somebody_breaks_is_repaired_by_the_next_run(what: str, rotating: bool) -> None:  # noqa: FBT001
    world = installed()
    world.play(Start(RENEWAL, killed=7 if rotating else None))
    damage(world, what)
    world.play(Start(DAY))
    repaired = world.seconds
    world.play(Start(DAY))
    world.play(Start(DAY))
    assert world.errors == untrusted(world, since=repaired + LATE + TARGET.settle) == []
    assert len(world.bundle) == 1


@given(st.lists(st.tuples(st.sampled_from(DAMAGES), cut_off), max_size=8))
def test_whatever_is_broken_and_however_often_runs_are_killed_all_is_well_in_the_end(
    damages: list[tuple[str, Start]],
) -> None:
    world = installed()
    for what, start in damages:
        world.play(start)
        damage(world, what)
    world.play(Start(0))
    repaired = world.seconds
    world.play(Start(DAY), Start(2 * DAY))
    assert world.errors == untrusted(world, since=repaired + LATE + TARGET.settle) == []
    assert len(world.bundle) == 1


def test_a_bundle_does_not_grow_however_often_the_secret_is_emptied() -> None:
    world = installed()
    for _ in range(30):
        damage(world, "empty Secret")
        world.play(Start(60))
    assert 1 < len(world.bundle) <= 12


def test_a_clock_that_was_far_ahead_is_repaired_by_one_that_is_right() -> None:
    world = installed()
    world.play(Start(DAY, skew=400 * DAY))
    world.play(Start(DAY))
    repaired = world.seconds
    world.play(Start(DAY))
    assert world.errors == untrusted(world, since=repaired + LATE + TARGET.settle) == []
    assert expired(world)[-1:] != [f"{world.served[-1]}"]


def test_an_object_that_always_changes_is_an_error_and_not_a_loop() -> None:
    world = Timeline()
    changes = [(0.05 * step, lambda: damage(world, "no time")) for step in range(4000)]
    world.play(Start(0, delays=(0.1,)), events=changes)
    (error,) = world.errors
    assert "changes all the time" in error
