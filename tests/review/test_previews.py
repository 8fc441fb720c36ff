"""Reading previews in all forms that the engine writes, and rejecting what is none, with what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.errors import MultiarchError
from multiarch.observed.resources.paths import SECRET
from multiarch.review.model import Operation, Preview
from multiarch.review.previews.reading import read_previews
from tests.review.engine_text import STACK, digest, error, event_log, state, step, urn

QUEUE, SET, GROUP = "aws:sqs/queue:Queue", "kubernetes:apps/v1:StatefulSet", "aws:eks/nodeGroup:NodeGroup"


def one(data: bytes) -> Preview:
    (found,) = read_previews(data, "preview.json")
    return found


def test_a_digest_becomes_steps() -> None:
    found = one(
        digest(
            step("update", GROUP, "api", {"version": "1.35"}, {"version": "1.36"}, {"version": "update"}),
            step("create", QUEUE, "jobs", None, {"name": "jobs"}),
            step("delete", QUEUE, "old", {"name": "old"}),
        )
    )
    assert (found.stack, found.project, found.source, found.succeeded) == (STACK, "multiarch-eks", "preview.json", True)
    update, create, delete = found.steps
    assert (update.operation, update.type, update.name, update.changed) == (
        Operation.UPDATE,
        GROUP,
        "api",
        ("version",),
    )
    assert update.old is not None
    assert update.new is not None
    assert (update.old.inputs, update.new.inputs, update.old.id) == (
        {"version": "1.35"},
        {"version": "1.36"},
        "id-of-api",
    )
    assert create.old is None
    assert delete.new is None
    assert (create.operation, delete.operation) == (Operation.CREATE, Operation.DELETE)


def test_the_same_of_an_event_log() -> None:
    steps = [
        step("update", GROUP, "api", {"version": "1.35"}, {"version": "1.36"}, {"version": "update"}),
        step("delete", QUEUE, "old", {"name": "old"}),
    ]
    assert one(event_log(*steps)).steps == one(digest(*steps)).steps


def replacement(op: str) -> dict[str, Any]:
    return step(op, SET, "db", {"serviceName": "a"}, {"serviceName": "b"}, {"serviceName": "update-replace"})


def deletion() -> dict[str, Any]:
    return {**replacement("delete-replaced"), "newState": None}


def test_a_replacement_is_one_step_and_the_event_log_knows_its_order() -> None:
    create, logical = replacement("create-replacement"), replacement("replace")
    (create_first,) = one(event_log(create, logical, deletion())).steps
    (delete_first,) = one(event_log(deletion(), logical, create)).steps
    (collapsed,) = one(digest(logical)).steps
    for found in (create_first, delete_first, collapsed):
        assert (found.operation, found.causes) == (Operation.REPLACE, ("serviceName",))
        assert found.old is not None
        assert found.new is not None
        assert (found.old.inputs["serviceName"], found.new.inputs["serviceName"]) == ("a", "b")
    assert (create_first.deletes_first, delete_first.deletes_first, collapsed.deletes_first) == (False, True, None)


def test_the_rest_of_an_unfinished_replacement_is_a_deletion() -> None:
    (found,) = one(event_log(deletion())).steps
    assert (found.operation, found.new) == (Operation.DELETE, None)


def test_what_is_retained_is_forgotten() -> None:
    (found,) = one(digest(step("delete", QUEUE, "old", {"name": "old"}, retainOnDelete=True))).steps
    assert found.operation is Operation.FORGET


def test_a_refresh_without_a_difference_is_no_step_of_its_own() -> None:
    inputs = {"name": "jobs"}
    refresh = step("refresh", QUEUE, "jobs", inputs, inputs)
    (alone,) = one(digest(refresh)).steps
    (before_update,) = one(digest(refresh, step("update", QUEUE, "jobs", inputs, {"name": "j"}))).steps
    assert (alone.operation, before_update.operation) == (Operation.SAME, Operation.UPDATE)


def test_drift_of_an_event_log_is_what_the_refresh_returned() -> None:
    drifted = step("refresh", QUEUE, "jobs", {"delaySeconds": 0}, {"delaySeconds": 9})
    drift, same = one(event_log(drifted, step("same", QUEUE, "jobs", {"delaySeconds": 9}, {"delaySeconds": 9}))).steps
    assert (drift.operation, drift.changed, same.operation) == (Operation.DRIFT, ("delaySeconds",), Operation.SAME)
    assert drift.new is not None
    assert drift.new.inputs == {"delaySeconds": 9}


def test_drift_of_a_digest_is_between_the_refresh_and_the_next_step() -> None:
    refresh = step("refresh", QUEUE, "jobs", {"delaySeconds": 0}, {"delaySeconds": 0})
    back = step("update", QUEUE, "jobs", {"delaySeconds": 9}, {"delaySeconds": 0}, {"delaySeconds": "update"})
    drift, update = one(digest(refresh, back)).steps
    assert (drift.operation, drift.changed, update.operation) == (Operation.DRIFT, ("delaySeconds",), Operation.UPDATE)
    gone, again = one(digest(refresh, step("create", QUEUE, "jobs", None, {"delaySeconds": 0}))).steps
    assert (gone.operation, gone.new, again.operation) == (Operation.DRIFT, None, Operation.CREATE)


def test_what_providers_keep_for_themselves_is_omitted() -> None:
    inputs = {"__defaults": [], "tags": {"__defaults": [], "a": "b"}, "list": [{"__defaults": [], "c": 1}]}
    (found,) = one(digest(step("create", QUEUE, "jobs", None, inputs, outputs={"__meta": "{}", "arn": "x"}))).steps
    assert found.new is not None
    assert found.new.inputs == {"tags": {"a": "b"}, "list": [{"c": 1}]}
    assert found.new.outputs == {"arn": "x"}


@pytest.mark.parametrize("write", [digest, event_log])
def test_secrets_in_plain_text_are_not_kept(write: Callable[..., bytes]) -> None:
    # `pulumi preview --show-secrets` writes such an object.
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": '"hunter2"'}
    policy = json.dumps({"Statement": [{"Condition": {"StringEquals": {"aws:x": secret}}}]})
    inputs = {"key": secret, "list": [{"inner": secret}], "policy": policy}
    found = one(write(step("create", QUEUE, "jobs", None, inputs)))
    assert "hunter2" not in repr(found)
    assert found.steps[0].new is not None
    assert found.steps[0].new.inputs == {"key": SECRET, "list": [{"inner": SECRET}], "policy": SECRET}


def test_diagnostics_are_kept_once_and_without_their_prefix() -> None:
    warning = {"message": "warning: watch out\n", "severity": "warning"}
    debug = {"message": "debug: noise", "severity": "debug"}
    found = one(digest(step("same", QUEUE, "q", {}, {}), diagnostics=[error("it broke"), warning, warning, debug]))
    assert (found.errors, found.warnings, found.succeeded) == (("it broke",), ("watch out",), False)


def test_a_preview_that_failed_before_its_first_step_is_named_by_its_configuration() -> None:
    config = {"multiarch-eks:team": "checkout", "multiarch-eks:environment": "dev"}
    found = one(digest(diagnostics=[error("it broke")], config=config))
    assert (found.stack, found.steps, found.succeeded) == (STACK, (), False)
    with pytest.raises(MultiarchError, match="failed before its first step: it broke"):
        one(digest(diagnostics=[error("it broke")]))


def test_an_event_log_says_that_a_preview_failed() -> None:
    for result in ("failed", None):
        assert not one(event_log(step("same", QUEUE, "q", {}, {}), result=result)).succeeded


def test_violations_of_policies_are_errors_and_warnings() -> None:
    def violation(level: str) -> bytes:
        event = {
            "resourceUrn": urn(QUEUE, "jobs"),
            "message": "no wildcards\n",
            "policyName": "iam",
            "policyPackName": "multiarch",
            "enforcementLevel": level,
        }
        return json.dumps({"sequence": 1, "policyEvent": event}).encode() + b"\n"

    log = event_log(step("same", QUEUE, "q", {}, {}))
    found = one(log.replace(b'{"sequence": 1,', violation("mandatory") + violation("advisory") + b'{"sequence": 1,', 1))
    text = "policy iam of multiarch: jobs: no wildcards"
    assert (found.errors, found.warnings) == ((text,), (text,))


def test_several_previews_one_after_the_other() -> None:
    first, second = digest(step("same", QUEUE, "a", {}, {})), event_log(step("same", QUEUE, "b", {}, {}))
    found = read_previews(first + b"\n" + second + second + first, "-")
    assert [preview.steps[0].name for preview in found] == ["a", "b", "b", "a"]


def test_a_byte_order_mark_and_a_long_text_do_not_matter() -> None:
    long = {"text": "ä" * 150_000, "number": 12345678901234}
    (found,) = one(b"\xef\xbb\xbf" + digest(step("create", QUEUE, "q", None, long))).steps
    assert found.new is not None
    assert found.new.inputs == long


BAD = [
    (b"", "The file is empty. Did `pulumi preview` fail"),
    ("{}".encode("utf-16"), "UTF-16"),
    (b'{"steps": "\xff"}', "not UTF-8"),
    (b"Previewing update (dev):\n{}", "'Previewing update (dev):'. Give what `pulumi preview --json`"),
    (b"{}", "This is not a preview: it is JSON with the keys none"),
    (b'{"steps": []}', "no steps, and does not say of which stack"),
    (b'{"steps": [1]}', "Step 1 has no op and urn"),
    (b'{"steps": [{"op": "same", "urn": "x"}]}', "'x' is not a URN"),
    (b'{"steps": 1, "config": []}', "config must be a JSON object"),
    (b'{"diagnostics": [1]}', "A diagnostic has no message"),
    (b'{"steps": [{"op": NaN}]}', "NaN is not a JSON number"),
    (b'{"steps": [{"op" 1}]}', "Invalid JSON"),
    (b'{"steps":' + b"[" * 100_000, "nested too deeply"),
    (event_log(result=None, ends=False), "ends before the engine's summary"),
    (b'{"sequence": 1, "resourcePreEvent": {}}', "A step's event has no metadata"),
    (digest({"op": "explode", "urn": urn(QUEUE, "q")}), "Unknown operation 'explode'"),
    (digest({"op": "same", "urn": urn(QUEUE, "q"), "oldState": 1}), "Step 1: oldState must be a JSON object"),
    (digest({"op": "create", "urn": urn(QUEUE, "q"), "newState": state(QUEUE, "q", {}) | {"inputs": 1}}), "inputs of"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), BAD)
def test_bad_input_is_named_with_the_file(data: bytes, words: str) -> None:
    with pytest.raises(MultiarchError) as raised:
        read_previews(data, "preview.json")
    assert str(raised.value).startswith("preview.json: ")
    assert words in str(raised.value)
    assert raised.value.hint


def test_every_truncation_is_named() -> None:
    data = digest(step("update", GROUP, "api", {"version": "1.35"}, {"version": "1.36"}))
    for end in range(1, len(data)):
        with pytest.raises(MultiarchError, match="cut off"):
            read_previews(data[:end], "preview.json")


KEYS = "steps op urn oldState inputs diagnostics message config sequence resourcePreEvent metadata cancelEvent"
SCALARS = st.none() | st.booleans() | st.integers() | st.sampled_from(["", "same", "urn:pulumi:a::b::c:d:E::f"])
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS.split(), "x"]), inner, max_size=4)
    ),
)


@given(JSON)
def test_any_json_is_read_or_rejected(value: object) -> None:
    with suppress(MultiarchError):
        read_previews(json.dumps(value).encode(), "preview.json")
