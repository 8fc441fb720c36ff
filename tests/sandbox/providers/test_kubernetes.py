"""The kubernetes stand-in: a folder of manifests, and requests to a recorder that stands in for an API server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pulumi.provider.experimental import provider as api

from sandbox.providers import StandInError
from sandbox.providers.kubernetes.manifests import Manifests, text
from sandbox.providers.kubernetes.objects import kind_of, replaces
from sandbox.providers.kubernetes.provider import KubernetesProvider
from sandbox.providers.values import Record, plain_map, wrap_map

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


class Stand:
    """The provider as the engine drives it."""

    def __init__(self) -> None:
        self.provider = KubernetesProvider()

    @staticmethod
    def urn(token: str) -> str:
        return f"urn:pulumi:dev::shop::{token}::name"

    def checked(self, token: str, inputs: Record) -> Record:
        answer = asyncio.run(self.provider.check(api.CheckRequest(self.urn(token), {}, wrap_map(inputs), b"")))
        assert not answer.failures, [failure.reason for failure in answer.failures]
        return plain_map(answer.inputs or {})

    def create(self, token: str, inputs: Record) -> tuple[str, Record]:
        request = api.CreateRequest(self.urn(token), wrap_map(self.checked(token, inputs)), 0, False)  # noqa: FBT003 (pulumi's signature)
        answer = asyncio.run(self.provider.create(request))
        return answer.resource_id or "", plain_map(answer.properties)

    def update(self, token: str, identifier: str, state: Record, new: Record) -> Record:
        request = api.UpdateRequest(self.urn(token), identifier, wrap_map(state), wrap_map(new), 0, [], False)  # noqa: FBT003 (pulumi's signature)
        return plain_map(asyncio.run(self.provider.update(request)).properties)

    def read(self, token: str, identifier: str, state: Record) -> str | None:
        return asyncio.run(
            self.provider.read(api.ReadRequest(self.urn(token), identifier, wrap_map(state), {}))
        ).resource_id

    def delete(self, token: str, identifier: str, state: Record) -> None:
        asyncio.run(self.provider.delete(api.DeleteRequest(self.urn(token), identifier, wrap_map(state), 0)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULTIARCH_SANDBOX_MANIFESTS", str(tmp_path / "manifests"))
    return tmp_path / "manifests" / "dev"  # the stack's, as its URN names it


def test_the_folder_follows_create_update_and_delete(folder: Path) -> None:
    stand = Stand()
    inputs = {"metadata": {"name": "settings", "namespace": "shop"}, "data": {"b": "2", "a": "1"}}
    identifier, state = stand.create(CONFIG_MAP, inputs)
    file = folder / "core_configmap_shop_settings.yaml"
    assert identifier == "shop/settings"
    assert file.read_text() == (
        'apiVersion: v1\ndata:\n  a: "1"\n  b: "2"\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\n'
    )
    state = stand.update(CONFIG_MAP, identifier, state, {**state["__inputs"], "data": {"a": "9"}})
    assert 'a: "9"' in file.read_text()
    assert stand.read(CONFIG_MAP, identifier, state) == identifier
    stand.delete(CONFIG_MAP, identifier, state)
    assert list(folder.iterdir()) == []
    assert stand.read(CONFIG_MAP, identifier, state) == ""
    stand.delete(CONFIG_MAP, identifier, state)


def test_a_name_is_made_from_the_urn(folder: Path) -> None:
    names = {Stand().create(CONFIG_MAP, {"data": {}})[0] for _ in range(2)}
    assert len(names) == 1
    assert names.pop().startswith("name-")
    assert len(list(folder.iterdir())) == 1


def test_a_secret_is_readable_by_its_owner_alone(folder: Path) -> None:
    Stand().create("kubernetes:core/v1:Secret", {"metadata": {"name": "s"}, "stringData": {"a": "b"}})
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]


def test_a_release_is_recorded_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = {
        "chart": "karpenter",
        "version": "1.14.1",
        "namespace": "kube-system",
        "name": "karpenter",
        "values": {"a": 1},
    }
    identifier, _ = Stand().create("kubernetes:helm.sh/v3:Release", inputs)
    assert identifier == "kube-system/karpenter"
    written = (folder / "multiarch-sandbox_helmrelease_kube-system_karpenter.yaml").read_text()
    assert "chart: karpenter" in written
    assert "version: 1.14.1" in written
    assert "installs nothing" in capsys.readouterr().err


def test_the_same_object_gives_the_same_bytes() -> None:
    one = {"kind": "A", "metadata": {"name": "n", "labels": {"b": "1", "a": "2"}}, "apiVersion": "v1"}
    other = {"apiVersion": "v1", "metadata": {"labels": {"a": "2", "b": "1"}, "name": "n"}, "kind": "A"}
    assert text(one) == text(other)


@pytest.mark.parametrize(
    ("token", "version", "kind"),
    [
        ("kubernetes:core/v1:ConfigMap", "v1", "ConfigMap"),
        ("kubernetes:apps/v1:Deployment", "apps/v1", "Deployment"),
        ("kubernetes:karpenter.sh/v1:NodePool", "karpenter.sh/v1", "NodePool"),
    ],
)
def test_a_token_names_version_and_kind(token: str, version: str, kind: str) -> None:
    assert kind_of(token) == (version, kind)


@pytest.mark.parametrize("token", ["kubernetes:helm.sh/v3:Chart", "kubernetes:yaml/v2:ConfigGroup", "kubernetes:x:Y"])
def test_what_is_not_an_object_is_rejected(token: str) -> None:
    with pytest.raises(StandInError, match="takes objects"):
        kind_of(token)


def test_what_cannot_change_in_place_replaces() -> None:
    assert replaces("StorageClass", {}, "parameters.type")
    assert replaces("Deployment", {}, "metadata.name")
    assert not replaces("Deployment", {}, "spec.replicas")
    assert replaces("ConfigMap", {}, "data.a")
    assert not replaces("ConfigMap", {"enableConfigMapMutable": "true"}, "data.a")


def test_without_a_place_for_objects_it_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MULTIARCH_SANDBOX_MANIFESTS", raising=False)
    with pytest.raises(StandInError, match="nowhere to put objects"):
        Stand().create(CONFIG_MAP, {"data": {}})


def test_manifests_of_two_groups_do_not_meet(tmp_path: Path) -> None:
    store = Manifests(tmp_path)
    for version in ("apps/v1", "example.org/v1"):
        store.put({"apiVersion": version, "kind": "Deployment", "metadata": {"name": "a", "namespace": "n"}})
    assert len(list(tmp_path.iterdir())) == 2
