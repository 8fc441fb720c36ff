"""Files, folders and standard input: what is read in which order, and what is rejected where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes.manifests import read_manifests, read_objects
from multiarch.kubernetes.source import add_object_source
from multiarch.manifests.values import ManifestError
from multiarch.scheduling.pods import read_pods

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: a, image: a}]}\n"


def pod(name: str) -> str:
    return POD.replace("NAME", name)


def shown(text: str) -> list[tuple[str, str]]:
    return [(str(found.source), found.value["kind"]) for found in read_objects(text, "f.yaml")]


def test_lists_are_unpacked_and_every_object_knows_its_place() -> None:
    text = "---\n---\nkind: A\n---\nkind: List\nitems:\n- kind: B\n- kind: List\n  items: [{kind: C}]\n---\n# nothing\n"
    assert shown(text) == [
        ("f.yaml:3, document 2", "A"),
        ("f.yaml:7, document 3, item 1", "B"),
        ("f.yaml:8, document 3, item 1", "C"),
    ]


def test_items_of_a_typed_list_get_its_kind() -> None:
    text = json.dumps({"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": {"name": "a"}}]})
    (found,) = read_objects(text, "-")
    assert found.value == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    with pytest.raises(MultiarchError, match="item 1: has no kind"):
        list(read_objects('{"kind": "List", "items": [{}]}', "-"))


def test_json_may_be_one_object_an_array_or_one_after_another() -> None:
    assert shown('{"kind": "A"}') == [("f.yaml, document 1", "A")]
    assert shown('[{"kind": "A"}, {"kind": "B"}]') == [("f.yaml, document 1", "A"), ("f.yaml, document 2", "B")]
    assert shown('{"kind": "A"}\n{"kind": "B"}\n') == [("f.yaml, document 1", "A"), ("f.yaml, document 2", "B")]
    assert shown("{kind: A, flow: true}") == [("f.yaml:1, document 1", "A")]
    assert shown('\ufeff{"kind": "A"}') == [("f.yaml, document 1", "A")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "just text\n",
            "f.yaml:1, document 1 is a string, not a Kubernetes object. A Kubernetes object has apiVersion",
        ),
        ("- kind: A\n", "f.yaml:1, document 1 is a list, not a Kubernetes object."),
        ("5\n", "f.yaml:1, document 1 is a number, not a Kubernetes object."),
        ("true\n", "f.yaml:1, document 1 is a boolean, not a Kubernetes object."),
        ("kind: A\n---\nname: chart\nversion: 1\n", "f.yaml:3, document 2: has no kind. A Kubernetes object has"),
        ("kind: [A]\n", "f.yaml:1, document 1: has no kind."),
        ("kind: A\n---\nb: [\n", "f.yaml:3, document 2: not valid YAML: did not find expected node content"),
        ('{"kind": "A", "kind": "B"}', "f.yaml: duplicate key kind."),
        ("[" * 100_000 + "]" * 100_000, "f.yaml: nested too deeply."),
        ("name: {{ .Values.name }}\n", "a list or a mapping can't be a key. This looks like a Helm template"),
        ("{{- if .Values.on }}\nkind: A\n{{- end }}\n", "render it first with `helm template`."),
        ('kind: Pod\nspec: {image: "{{ .Values.image }}"}\n', "f.yaml:1, document 1: Pod contains {{ … }}. This looks"),
    ],
)
def test_what_is_not_a_manifest_is_rejected_with_file_document_line_and_the_fix(text: str, said: str) -> None:
    with pytest.raises(MultiarchError) as raised:
        list(read_objects(text, "f.yaml"))
    assert said in str(raised.value)
    assert raised.value.exit_code == 2


def test_templates_are_found_at_any_depth() -> None:
    deep = f'{{"kind": "X", "spec": {"[" * 900}"{{{{ TEXT }}}}"{"]" * 900}}}'
    assert shown(deep) == [("f.yaml, document 1", "X")]
    with pytest.raises(MultiarchError, match=r"X contains {{ … }}\."):
        shown(deep.replace("TEXT", ".Values.a"))


def test_templates_of_others_are_not_charts() -> None:
    text = "kind: ConfigMap\ndata: {a: '{{ .Values.x }}'}\n---\nkind: Rule\nsummary: '{{ $labels.pod }} is down'\n"
    assert [kind for _, kind in shown(text)] == ["ConfigMap", "Rule"]


def test_a_folder_is_read_whole_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name in ("b.yaml", "a/z.yml", "a/y.json", "c/deep/er.YAML", ".git/config.yaml", "a/.hidden.yaml", "README.md"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{"kind": "A"}' if file.suffix != ".md" else "no manifest")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    found = [Path(each.source.where).relative_to(tmp_path).as_posix() for each in read_manifests([tmp_path])]
    assert found == ["b.yaml", "a/y.json", "a/z.yml", "c/deep/er.YAML"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(MultiarchError, match="empty contains no manifests"):
        list(read_manifests([tmp_path / "empty"]))


def test_files_come_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "2.yaml", tmp_path / "1.yaml"
    first.write_text(pod("a"))
    second.write_text(pod("b"))
    found = read_manifests([first, "-", second], stdin=pod("c"))
    assert [each.value["metadata"]["name"] for each in found] == ["a", "c", "b"]
    with pytest.raises(MultiarchError, match="can only be read once"):
        list(read_manifests(["-", "-"], stdin=pod("c")))


def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(MultiarchError, match=r"none\.yaml can't be read: No such file or directory"):
        list(read_manifests([tmp_path / "none.yaml"]))
    (tmp_path / "latin.yaml").write_bytes("kind: Caf\u00e9\n".encode("latin-1"))
    with pytest.raises(MultiarchError, match=r"latin.yaml can't be read: 'utf-8' codec"):
        list(read_manifests([tmp_path / "latin.yaml"]))


def test_a_fault_in_an_object_is_placed_in_its_file() -> None:
    text = f"{pod('a')}---\nkind: List\nitems:\n- kind: Pod\n  metadata: {{name: b}}\n  spec: {{}}\n"
    found = list(read_objects(text, "f.yaml"))
    with pytest.raises(ManifestError) as raised:
        list(read_pods(each.value for each in found))
    assert str(add_object_source(raised.value, found)) == (
        "f.yaml:8, document 2, item 1, Pod default/b: spec.containers: is missing or empty."
    )


def test_what_is_read_is_not_shown() -> None:
    (found,) = read_objects("kind: Secret\ndata: {a: hidden}\n", "f.yaml")
    assert repr(found) == "<Secret from f.yaml:1, document 1>"
