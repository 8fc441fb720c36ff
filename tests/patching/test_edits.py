"""Manifests' strings get lines, keep all they have, and mean what the algebra says."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from ruamel.yaml import YAML

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import parse_taint
from multiarch.manifests.label_query import parse_label_query
from multiarch.manifests.templates import Selection
from multiarch.patching.edits import Edited, edit_templates
from multiarch.patching.transform import SchedulingChange, transform_pod_spec

ARM, AMD = Architecture.ARM64, Architecture.AMD64
TAINT = parse_taint("arch=arm64:NoSchedule")
TOLERATE = SchedulingChange(tolerate=(TAINT,))
PREFER = SchedulingChange(prefer=ARM, tolerate=(TAINT,))
REQUIRE = SchedulingChange(require=ARM)

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment   # the usual
metadata:
  name: "api"
  namespace: shop
  labels: {app: api}
spec:
  template:
    spec:
      # one container
      containers:
      - name: 'a'
        image: b
"""


def loaded(text: str) -> list[Any]:
    return list(YAML(typ="safe", pure=True).load_all(text))


def added_lines(before: str, edited: Edited) -> list[str]:
    """Lines that were added; nothing may have been taken away."""
    changes = list(difflib.ndiff(before.splitlines(), edited.text.splitlines()))
    assert not [line for line in changes if line.startswith("- ")]
    return [line[2:] for line in changes if line.startswith("+ ")]


def test_lines_are_added_in_the_style_of_the_manifest() -> None:
    edited = edit_templates(DEPLOYMENT, PREFER)
    assert added_lines(DEPLOYMENT, edited) == [
        "      tolerations:",
        "      - key: arch",
        "        operator: Equal",
        "        value: arm64",
        "        effect: NoSchedule",
        "      affinity:",
        "        nodeAffinity:",
        "          preferredDuringSchedulingIgnoredDuringExecution:",
        "          - weight: 100",
        "            preference:",
        "              matchExpressions:",
        "              - key: kubernetes.io/arch",
        "                operator: In",
        "                values: [arm64]",
    ]
    assert (edited.faults, edited.objects, edited.changed) == ((), 1, True)
    assert edited.outcomes[0].template.title == "Deployment shop/api"


def test_lists_stand_further_in_where_the_manifest_has_them_so() -> None:
    deeper = DEPLOYMENT.replace("      - name: 'a'\n        image: b", "        - name: 'a'\n          image: b")
    assert added_lines(deeper, edit_templates(deeper, TOLERATE))[1] == "        - key: arch"


def comments(text: str) -> list[str]:
    return [part.split("\n")[0] for part in text.split("#")[1:]]


PLACES = [
    "      tolerations: []\n",
    "      tolerations: [] # none\n",
    "      tolerations:\n",
    "      tolerations: null\n",
    "      tolerations: ~ # none\n",
    "      tolerations: # none yet\n      # below\n",
    "      tolerations:\n      - key: gpu # first\n        operator: Exists\n\n      # below\n",
    "      tolerations:\n        - {key: gpu, operator: Exists} # first\n",
    "      tolerations: [{key: gpu, operator: Exists,},] # first\n",
    "      tolerations: [\n        {key: gpu, operator: Exists}, # first\n      ]\n",
    "      tolerations: &mine\n      - key: gpu\n        operator: Exists\n",
    "      tolerations: !!seq\n      -   key: gpu\n          operator: Exists\n",
    '      tolerations: [{"key":"gpu","operator":"Exists"}]\n',
    '      "tolerations":\n      -\n        key: gpu\n        operator: Exists\n',
    "      tolerations:\n      - key: gpu\n        operator:\n          Exists\n",
    "      tolerations:\n      - key: gpu\n        value: |-\n          # x\n      terminationGracePeriodSeconds: 3\n",
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("ending", ["", "...\n", "\n\n---\n# nothing\n"])
def test_whatever_is_written_there_a_toleration_is_added_and_nothing_else_changes(
    place: str, ending: str, *, last: bool
) -> None:
    if "Seconds" in place and last is False:
        place = place.partition("      terminationGrace")[0]
    text = DEPLOYMENT + place if last else DEPLOYMENT.replace("      # one", f"{place}      # one")
    text += ending
    if ending == "":
        text = text.removesuffix("\n")
    edited = edit_templates(text, TOLERATE)
    assert edited.faults == ()
    before, after = loaded(text), loaded(edited.text)
    before[0]["spec"]["template"]["spec"] = transform_pod_spec(before[0]["spec"]["template"]["spec"], TOLERATE).spec
    assert after == before
    assert comments(edited.text) == comments(text)
    assert not edit_templates(edited.text, TOLERATE).changed


def test_what_kubectl_takes_for_a_truth_value_is_not_a_text() -> None:
    (fault,) = edit_templates(DEPLOYMENT + "      tolerations: [{key: on, operator: Exists}]\n", TOLERATE).faults
    assert "spec.template.spec.tolerations[0].key" in fault.message


def test_a_mark_in_the_middle_is_told_and_nothing_is_shifted() -> None:
    text = DEPLOYMENT + "...\n\ufeff" + DEPLOYMENT
    edited = edit_templates(text, TOLERATE)
    (fault,) = edited.faults
    assert (fault.line, "byte order mark" in fault.message) == (15, True)


@pytest.mark.parametrize(
    "text", ["|+\n          foo\n\n\n", "|\n          # foo\n\n", ">-\n          a\n          b\n"]
)
def test_a_block_of_text_at_the_end_keeps_its_value(text: str) -> None:
    whole = DEPLOYMENT + f"      hostname: {text}"
    edited = edit_templates(whole, TOLERATE)
    assert edited.faults == ()
    spec = loaded(edited.text)[0]["spec"]["template"]["spec"]
    assert spec["hostname"] == loaded(whole)[0]["spec"]["template"]["spec"]["hostname"]
    assert len(spec["tolerations"]) == 1


def test_other_documents_keep_every_byte() -> None:
    odd = "\ufeff%YAML 1.2\n---\n\n# top\nkind:   ConfigMap\napiVersion: v1\n"
    odd += "data: { 'a' : \"\\x41\" }   \n...\n# between\n---\n"
    rest = "---\r\n# windows\r\napiVersion: v1\r\nkind: Service\r\n---\n\n"
    edited = edit_templates(odd + DEPLOYMENT + rest, TOLERATE)
    assert edited.faults == ()
    assert edited.text.startswith(odd + DEPLOYMENT)
    assert edited.text.endswith("effect: NoSchedule\n" + rest)
    assert edited.objects == 3


def test_line_ends_of_windows_stay() -> None:
    text = DEPLOYMENT.replace("\n", "\r\n")
    edited = edit_templates(text, PREFER)
    assert edited.text.replace("\r\n", "") == edited.text.replace("\r", "").replace("\n", "")
    assert edited.changed


def pod(name: str, rest: str) -> str:
    return (
        f"- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}}}\n  spec:\n    containers: [{{name: a}}]\n{rest}"
    )


HEAD = "apiVersion: v1\nkind: List\nitems:\n"
SHARED = [
    (pod("a", "    tolerations: &t [{key: a, operator: Exists}]\n") + pod("b", "    tolerations: *t\n"), "&t", 9),
    (pod("a", "    affinity: &t {podAffinity: {}}\n") + pod("b", "    affinity: *t\n"), "&t", 9),
    (pod("a", "    affinity: &t {}\n") + pod("b", "    affinity: &u\n      nodeAffinity: *t\n"), "&t", 9),
]


@pytest.mark.parametrize(("items", "named", "line"), SHARED)
def test_what_templates_share_is_not_changed_behind_their_backs(items: str, named: str, line: int) -> None:
    edited = edit_templates(HEAD + items, PREFER)
    assert edited.text == HEAD + items
    (fault,) = edited.faults
    assert (fault.line, fault.message) == (
        line,
        f"document 1: can't be edited: other places share the value of {named}.",
    )


def test_an_alias_that_leads_to_the_list_is_named() -> None:
    text = "x: &t [{key: a, operator: Exists}]\n" + DEPLOYMENT + "      tolerations: *t\n"
    (fault,) = edit_templates(text, TOLERATE).faults
    assert (fault.line, "*t refers to a value that other places share" in fault.message) == (15, True)


def test_what_is_merged_in_is_not_changed() -> None:
    text = "x: &t {tolerations: [{key: a, operator: Exists}]}\n" + DEPLOYMENT + "      <<: *t\n"
    (fault,) = edit_templates(text, TOLERATE).faults
    assert "tolerations is merged in by <<" in fault.message
    assert edit_templates(text, REQUIRE).changed, "what is not merged in can be added"
    assert edit_templates(text, REQUIRE).faults == ()


def test_anchors_that_are_not_in_the_way_stay() -> None:
    text = DEPLOYMENT.replace("metadata:\n", "metadata: &m\n") + "      labels: *m\n"
    edited = edit_templates(text, PREFER)
    assert edited.faults == ()
    assert len(added_lines(text, edited)) == 14


# -- what is and is not a template -------------------------------------------------------------------------------------


def test_kinds_that_are_unknown_are_changed_in_their_templates_only() -> None:
    text = """\
apiVersion: monitoring.example.com/v1
kind: Watcher
metadata: {name: w}
spec:
  containers: [{name: side}]
  workerTemplate:
    spec: {containers: [{name: a, image: b}]}
"""
    found = edit_templates(text, TOLERATE)
    assert [each.template.spec.path for each in found.outcomes] == ["spec.workerTemplate.spec"]
    assert [(each.title, each.path) for each in found.unknown] == [("Watcher default/w", "spec.containers")]


@pytest.mark.parametrize(
    ("version", "change", "flags"),
    [
        ("serving.knative.dev/v1", TOLERATE, ["kubernetes.podspec-tolerations is"]),
        ("serving.knative.dev/v1", PREFER, ["kubernetes.podspec-affinity and kubernetes.podspec-tolerations are"]),
        ("example.com/v1", PREFER, []),
    ],
)
def test_the_feature_flags_that_knative_needs_are_named(
    version: str, change: SchedulingChange, flags: list[str]
) -> None:
    text = f"""\
apiVersion: {version}
kind: Service
metadata: {{name: s}}
spec: {{template: {{spec: {{containers: [{{image: a}}]}}}}}}
"""
    (outcome,) = edit_templates(text, change).outcomes
    where = "enabled in ConfigMap knative-serving/config-features"
    assert outcome.transformed.notes == tuple(f"Knative rejects it unless {each} {where}" for each in flags)
    (again,) = edit_templates(edit_templates(text, change).text, change).outcomes
    assert not any("Knative" in note for note in again.transformed.notes)


def test_an_object_without_a_pod_template_that_runs_images_is_named() -> None:
    text = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec: {templates: [{container: {image: a}}, {container: {image: b}}]}
"""
    found = edit_templates(text, TOLERATE)
    assert (found.text, found.outcomes) == (text, ())
    assert [(each.title, each.path) for each in found.unknown] == [
        ("Workflow default/w", "spec.templates[0].container.image")
    ]


def test_a_job_of_another_group_is_not_taken_for_kubernetes_own() -> None:
    text = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: w}
spec:
  tasks:
  - template: {spec: {containers: [{name: a}]}}
  - template: {spec: {containers: [{name: b}]}}
"""
    edited = edit_templates(text, TOLERATE)
    assert [each.template.spec.path for each in edited.outcomes] == [
        "spec.tasks[0].template.spec",
        "spec.tasks[1].template.spec",
    ]
    assert edited.text.count("tolerations: [{key: arch") == 2


def test_what_is_not_an_object_is_left_alone_and_told() -> None:
    edited = edit_templates("replicas: 3\ncontainers: [{name: a}]\n---\n- op: add\n", TOLERATE)
    assert (edited.foreign, edited.objects, edited.changed) == ((1, 4), 0, False)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: [\n", 1, "Not valid YAML: did not find expected node content while parsing a flow node"),
        (f"{DEPLOYMENT}---\na: 1\na: 2\n", 16, "Duplicate key a"),
        ("---\n{{ include }}: {{ b }}\n", 2, "A list or a mapping can't be a key"),
        (
            "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: 3\n",
            1,
            "document 1, Pod default/p: spec: must be a mapping, not 3",
        ),
        ("kind: Job\napiVersion: batch/v1\n", 1, "document 1, Job: spec.template.spec: is missing."),
        ("a: &a [*a]\n", 1, "*a is inside of the value that it refers to"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_leaves_the_text_alone(text: str, line: int, said: str) -> None:
    edited = edit_templates(text, TOLERATE)
    (fault,) = edited.faults
    assert said in fault.message
    assert fault.line == line


# -- selection ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        (Selection(), True),
        (Selection(kinds=("deployment",)), True),
        (Selection(kinds=("Pod",)), False),
        (Selection(names=("a*", "b")), True),
        (Selection(names=("b",)), False),
        (Selection(namespaces=("shop",)), True),
        (Selection(namespaces=("default",)), False),
        (Selection(labels=parse_label_query("app=api,!tier")), True),
        (Selection(labels=parse_label_query("app!=api")), False),
        (Selection(labels=parse_label_query("app in (web, api), tier notin (x)")), True),
        (Selection(labels=parse_label_query("tier")), False),
    ],
)
def test_only_what_is_selected_is_changed(selection: Selection, *, selected: bool) -> None:
    edited = edit_templates(DEPLOYMENT, TOLERATE, selection)
    assert edited.changed is selected
    assert (edited.text == DEPLOYMENT) is not selected


@pytest.mark.parametrize("levels", [900, 100_000])
def test_json_that_is_nested_deeply_is_written_or_a_fault_and_never_a_crash(levels: int) -> None:
    deep = "[" * levels + "]" * levels
    text = f'{{"apiVersion": "v1", "kind": "Pod", "spec": {{"containers": [{{"name": "a"}}], "x": {deep}}}}}'
    edited = edit_templates(text, TOLERATE)
    assert (edited.text == text) == bool(edited.faults)
    assert ('"tolerations"' in edited.text) != bool(edited.faults)
