"""Edits of generated manifests: in every style the text says what the transform says."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.patching.edits import edit_templates
from multiarch.patching.transform import ContradictionError, SchedulingChange, transform_pod_spec
from tests.patching.test_edits import loaded
from tests.patching.test_transform import SPECS

ARM, AMD = Architecture.ARM64, Architecture.AMD64
TAINT = parse_taint("arch=arm64:NoSchedule")
TOLERATE = SchedulingChange(tolerate=(TAINT,))
PREFER = SchedulingChange(prefer=ARM, tolerate=(TAINT,))
REQUIRE = SchedulingChange(require=ARM)

STYLES = st.fixed_dictionaries({
    "default_flow_style": st.sampled_from([False, True, None]),
    "indent": st.sampled_from([(2, 2, 0), (2, 4, 2), (4, 4, 2), (4, 6, 4)]),
})  # fmt: skip


def dumped(value: object, style: Mapping[str, Any]) -> str:
    yaml = YAML()
    yaml.default_flow_style = style["default_flow_style"]
    mapping, sequence, offset = style["indent"]
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    yaml.width = 200
    stream = io.StringIO()
    # Copied: ruamel.yaml writes an alias for a value that is there twice, and in braces a wrong one.
    yaml.dump(json.loads(json.dumps(value)), stream)
    return stream.getvalue()


def objects(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    meta = {"metadata": {"name": "x"}}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", **meta, "spec": {"template": template, "replicas": 1}},
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            **meta,
            "spec": {"jobTemplate": {"spec": {"template": template}}},
        },
        {"apiVersion": "v1", "kind": "Pod", **meta, "spec": spec},
        {"apiVersion": "x.io/v1", "kind": "Rollout", **meta, "spec": {"parts": [{"template": template}]}},
        {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", **meta, "spec": spec}]},
    ]


def spec_in(written: Any) -> Any:  # noqa: ANN401
    """The pod spec in one of :func:`objects`."""
    spec = written["items"][0]["spec"] if "items" in written else written["spec"]
    spec = spec.get("jobTemplate", {"spec": spec})["spec"]
    spec = spec["parts"][0] if "parts" in spec else spec
    return spec["template"]["spec"] if "template" in spec else spec


@settings(max_examples=150, deadline=None)
@given(SPECS, STYLES, st.integers(0, 4), st.sampled_from([PREFER, REQUIRE, TOLERATE]))
def test_in_every_style_and_object_the_text_says_what_the_algebra_says(
    spec: dict[str, Any], style: dict[str, Any], which: int, change: SchedulingChange
) -> None:
    written = objects(spec)[which]
    text = dumped(written, style)
    # ruamel.yaml puts the anchor of a shared one-key mapping on its key in a flow sequence: another document.
    assume(loaded(text) == [written])
    edited = edit_templates(text, change)
    try:
        expected = transform_pod_spec(spec, change)
    except ContradictionError:
        assert len(edited.faults) == 1
        assert edited.text == text
        return
    assert edited.faults == ()
    (after,) = loaded(edited.text)
    assert spec_in(after) == expected.spec
    assert edited.changed is expected.changed
    assert edited.changed or edited.text == text


@settings(max_examples=60, deadline=None)
@given(SPECS, st.sampled_from([None, 2, 4, "\t"]), st.booleans(), st.sampled_from(["", "\n"]))
def test_json_stays_json(spec: dict[str, Any], indent: int | str | None, alphabets: bool, end: str) -> None:  # noqa: FBT001 (hypothesis passes it)
    written = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "é"}, "spec": spec}
    text = json.dumps(written, indent=indent, ensure_ascii=alphabets) + end
    edited = edit_templates(text, TOLERATE)
    expected = transform_pod_spec(spec, TOLERATE)
    assert edited.text == json.dumps({**written, "spec": expected.spec}, indent=indent, ensure_ascii=alphabets) + end
