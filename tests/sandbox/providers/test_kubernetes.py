"""The kubernetes stand-in: a folder of manifests as the cluster, and what the real provider does without one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.aws.remote import Remote
from sandbox.providers import InitializationError, StandInError
from sandbox.providers.kubernetes.objects import kind_of, replaces
from sandbox.providers.kubernetes.provider import KubernetesProvider
from sandbox.providers.values import UNKNOWN, Record, plain_map
from tests.sandbox.providers.driven import Driven, Made, urn
from tests.sandbox.served import Served

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
RELEASE = "kubernetes:helm.sh/v3:Release"
STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"
SETTINGS: Record = {"metadata": {"name": "settings", "namespace": "shop"}, "data": {"b": "2", "a": "1"}}
WEB: Record = {"chart": "web", "version": "1.2.3", "namespace": "shop", "name": "web", "values": {"a": 1}}
GP3: Record = {
    "metadata": {"name": "gp3"},
    "provisioner": "ebs.csi.aws.com",
    "parameters": {"type": "gp3"},
    "reclaimPolicy": "Delete",
}
MUTABLE = {"enableConfigMapMutable": True}


def stand(**settings: Any) -> Driven:
    return Driven(settings, KubernetesProvider())


def fail(driven: Driven, made: Made, said: str, *, preview: bool = False, **inputs: Any) -> Made:
    """Expect an update to fail; what the engine's state has then."""
    with pytest.raises(InitializationError, match=re.escape(said)) as raised:
        driven.update(made, preview=preview, **inputs)
    state = plain_map(dict(raised.value.properties))
    return Made(made.urn, raised.value.identifier, state["__inputs"], state)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULTIARCH_SANDBOX_MANIFESTS", str(tmp_path / "manifests"))
    return tmp_path / "manifests" / "dev"  # the stack's, as its URN names it


def live(folder: Path) -> Any:  # noqa: ANN401 (YAML)
    (file,) = folder.iterdir()
    return yaml.safe_load(file.read_text())


def edit(folder: Path, path: str, value: object) -> None:
    """Change one key of the only object, as somebody else would."""
    (file,) = folder.iterdir()
    found = place = yaml.safe_load(file.read_text())
    *above, key = path.split(".")
    for each in above:
        place = place[each]
    place[key] = value
    file.write_text(yaml.safe_dump(found))


# -- objects


def test_the_folder_follows_create_update_and_delete(folder: Path) -> None:
    driven = stand(**MUTABLE)
    made = driven.create(CONFIG_MAP, "name", **SETTINGS)
    file = folder / "core_configmap_shop_settings.yaml"
    assert made.id == "shop/settings"
    assert file.read_text() == (
        'apiVersion: v1\ndata:\n  a: "1"\n  b: "2"\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\n'
    )
    made = driven.update(made, data={"a": "9"})
    assert live(folder)["data"] == {"a": "9"}
    assert driven.refreshed(made) == made
    for _ in range(2):
        driven.delete(made)
        assert list(folder.iterdir()) == []
    assert driven.refreshed(made) is None


def test_a_name_is_made_from_the_urn(folder: Path) -> None:
    driven = stand()
    made = driven.create(CONFIG_MAP, "name", data={})
    assert made.id == stand().preview(CONFIG_MAP, "name", data={})["metadata"]["name"]
    assert made.id.startswith("name-")
    assert len(list(folder.iterdir())) == 1
    # Such a name changes with a replacement, which is created first.
    assert not driven.diff(made, data={"a": "1"}).delete_before_replace


def test_a_secret_is_readable_by_its_owner_alone(folder: Path) -> None:
    stand().create("kubernetes:core/v1:Secret", "name", metadata={"name": "s"}, stringData={"a": "b"})
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


def test_an_update_takes_back_what_kubectl_changed_and_leaves_what_is_not_the_programs(folder: Path) -> None:
    driven = stand(**MUTABLE)
    made = driven.create(CONFIG_MAP, "name", **SETTINGS)
    edit(folder, "data", {"a": "8", "b": "2", "c": "3"})
    made = driven.refreshed(made) or pytest.fail("gone")
    assert list(driven.diff(made, **SETTINGS).detailed_diff) == ["data.a"]
    driven.update(made, **{**SETTINGS, "data": {"a": "1"}})
    assert live(folder)["data"] == {"a": "1", "c": "3"}


def test_a_storage_class_is_replaced_for_its_parameters_and_rejects_another_reclaim_policy(folder: Path) -> None:
    driven = stand()
    made = driven.create(STORAGE_CLASS, "name", **GP3)
    replaced = driven.diff(made, parameters={"type": "io2"})
    assert (replaced.replaces, replaced.delete_before_replace) == (["parameters"], True)
    changed = driven.diff(made, reclaimPolicy="Retain")
    assert (changed.replaces, changed.diffs) == ([], ["reclaimPolicy"])
    said = 'StorageClass.storage.k8s.io "gp3" is invalid: reclaimPolicy: Invalid value: "Retain": field is immutable'
    for preview in (True, False):
        fail(driven, made, said, preview=preview, reclaimPolicy="Retain")
    assert live(folder)["reclaimPolicy"] == "Delete"


@pytest.mark.parametrize(("token", "inputs"), [(CONFIG_MAP, SETTINGS), (RELEASE, WEB)])
def test_an_import_reads_what_is_there(folder: Path, token: str, inputs: Record) -> None:
    driven = stand()
    made = driven.create(token, "name", **inputs)
    imported = driven.refreshed(Made(urn(token, "name"), made.id, {}, {})) or pytest.fail("not found")
    assert imported.inputs.items() >= inputs.items()
    assert driven.diff(imported, **inputs).changes is False
    driven.delete(imported)
    assert list(folder.iterdir()) == []


# -- releases


def test_a_release_is_recorded_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    driven = stand()
    assert driven.preview(RELEASE, "name", **WEB)["status"] == UNKNOWN
    made = driven.create(RELEASE, "name", **WEB)
    assert made.id == "shop/web"
    assert live(folder)["spec"] == {"chart": "web", "values": {"a": 1}, "version": "1.2.3"}
    assert made.state["status"] == live(folder)["status"]
    assert {"status": "deployed", "revision": 1, "name": "web"}.items() <= made.state["status"].items()
    assert "installs nothing" in capsys.readouterr().err
    assert driven.update(made, preview=True, values={"a": 2}).state["status"] == UNKNOWN
    assert driven.update(made, values={"a": 2}).state["status"]["revision"] == 2
    with pytest.raises(StandInError, match="cannot re-use a name that is still in use"):
        stand().create(RELEASE, "name", **WEB)


def test_a_release_that_a_killed_run_left_rejects_the_next_one(folder: Path) -> None:
    driven = stand()
    made = driven.create(RELEASE, "name", **WEB)
    edit(folder, "status.status", "pending-upgrade")
    made = driven.refreshed(made) or pytest.fail("gone")
    assert made.state["status"]["status"] == "pending-upgrade"
    assert driven.diff(made).changes is False
    driven.update(made, preview=True, values={"a": 2})
    with pytest.raises(StandInError, match=r"another operation \(install/upgrade/rollback\) is in progress"):
        driven.update(made, values={"a": 2})
    edit(folder, "status.status", "deployed")  # helm rollback
    assert driven.update(made, values={"a": 2}).state["status"]["status"] == "deployed"


# -- an API server that does not answer


@pytest.mark.parametrize(("token", "inputs"), [(CONFIG_MAP, SETTINGS), (RELEASE, WEB)])
def test_a_cluster_that_does_not_answer_at_the_beginning_is_unreachable_to_the_end(
    aws: Served, folder: Path, token: str, inputs: Record
) -> None:
    cluster = {"name": "c", "cluster": {"server": f"{aws.endpoint}/sandbox/kubernetes/ABC"}}
    contexts = [{"name": "x", "context": {"cluster": "c"}}]
    there = {"kubeconfig": json.dumps({"clusters": [cluster], "contexts": contexts, "current-context": "x"})}
    made, remote = stand(**there).create(token, "name", **inputs), Remote(aws.endpoint)
    remote.set_kubernetes_down(60)
    driven = stand(**there)
    remote.set_kubernetes_down(0)
    driven.preview(token, "other", **inputs)
    driven.update(made, preview=True)
    with pytest.raises(StandInError, match="unable to load schema information from the API server"):
        driven.create(token, "other", **inputs)
    with pytest.raises(StandInError, match="unable to load schema information from the API server"):
        driven.update(made)
    with pytest.raises(StandInError, match=r"unreachable cluster|cluster is unreachable"):
        driven.delete(made)
    assert len(list(folder.iterdir())) == 1


# -- names


@pytest.mark.parametrize("token", ["kubernetes:helm.sh/v3:Chart", "kubernetes:yaml/v2:ConfigGroup", "kubernetes:x:Y"])
def test_what_is_not_an_object_is_rejected(token: str) -> None:
    with pytest.raises(StandInError, match="takes objects"):
        kind_of(token)


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("Deployment", "metadata.name", True),
        ("Deployment", "spec.selector.matchLabels.app", True),
        ("Deployment", "spec.replicas", False),
        ("StorageClass", "parameters.type", True),
        ("StorageClass", "reclaimPolicy", False),
        ("ConfigMap", "data.a", True),
        ("Secret", "immutable", False),
    ],
)
def test_what_the_provider_replaces(kind: str, path: str, *, expected: bool) -> None:
    assert replaces({"kind": kind}, {}, path) is expected


def test_data_changes_in_place_if_the_provider_is_told_so_and_the_object_allows_it() -> None:
    mutable = {"enableConfigMapMutable": "true"}
    assert not replaces({"kind": "ConfigMap"}, mutable, "data.a")
    assert replaces({"kind": "ConfigMap", "immutable": True}, mutable, "data.a")
