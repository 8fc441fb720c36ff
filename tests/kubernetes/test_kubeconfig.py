"""Kubeconfigs: which files, which credentials, and one line for each that does not work."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes.config import incluster_config

from multiarch.errors import MultiarchError
from multiarch.kubernetes import kubeconfig
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.kubeconfig import Connection, read_connection
from multiarch.kubernetes.resources import PODS
from multiarch.kubernetes.source import ClusterAccess
from tests.kubernetes.api_server import Answer, Request, listed, rejected, serving
from tests.kubernetes.certificates import authority
from tests.kubernetes.kubeconfigs import opened, write

HIDDEN = "made-up-and-never-shown"
SERVER = "https://api.example.com:6443"
V1 = "client.authentication.k8s.io/v1"


def read(file: Path, context: str | None = None) -> Connection:
    return read_connection(ClusterAccess(file, context))


def plugin(folder: Path, status: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A user whose exec plugin, beside the kubeconfig, prints this status."""
    (folder / "answer").write_text(json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status}))
    program = folder / "get-token"
    program.write_text('#!/bin/sh\ncat "$(dirname "$0")/answer"\n')
    program.chmod(0o700)
    return {"exec": {"apiVersion": V1, "command": "./get-token"}, **more}


def test_of_several_files_the_first_that_says_something_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tmp_path / "1"
    first.write_text('{"clusters": [{"name": "a", "cluster": {"server": "https://first"}}]}')
    second, third = (write(tmp_path / name, f"https://{name}", name=name) for name in ("b", "a"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'not-there'}:{first}:{second}::{third}")
    with KubernetesCluster(ClusterAccess()) as cluster:
        assert (cluster.name, cluster.namespace) == ("b", "default")
    assert read_connection(ClusterAccess()).configuration.host == "https://b"
    assert read_connection(ClusterAccess(context="a")).configuration.host == "https://first"
    assert read(third).configuration.host == "https://a"


def test_without_kubeconfig_the_home_folders_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(KubeconfigError, match=r"~/.kube/config does not exist. Create one with `aws eks update-kubeco"):
        read_connection(ClusterAccess())
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", SERVER)
    assert read_connection(ClusterAccess()).name == "here"


def test_in_a_pod_its_service_account_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = authority(tmp_path, "ca")
    (tmp_path / "token").write_text(f"{HIDDEN}\n")
    (tmp_path / "namespace").write_text("shop\n")
    for module in (incluster_config, kubeconfig):
        monkeypatch.setattr(module, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(ours.certificate))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with serving(lambda _: listed(["a"]), pair=ours.issue("server", tmp_path)) as server:
        host, _, port = server.url.removeprefix("https://").partition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        with KubernetesCluster(ClusterAccess()) as cluster:
            assert (cluster.name, cluster.namespace) == ("in-cluster", "shop")
            assert len(list(cluster.objects([PODS]))) == 1
            (tmp_path / "token").write_text("renewed")
            assert len(list(cluster.objects([PODS]))) == 1
    assert {request.headers["authorization"].lower() for request in server.requests} == {f"bearer {HIDDEN}"}


def test_a_rejected_token_is_read_once_more(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    (tmp_path / "file").write_text("old")

    def answer(request: Request) -> Answer:
        (tmp_path / "file").write_text("new")
        return listed(["a"]) if request.headers["authorization"] == "Bearer new" else rejected(401)

    with serving(answer, pair=ours.issue("server", tmp_path)) as server:
        trusted: dict[str, Any] = {"certificate-authority": "authority.crt"}
        with opened(tmp_path, server.url, {"tokenFile": "file"}, **trusted) as cluster:
            assert len(list(cluster.objects([PODS]))) == 1
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer old", "Bearer new"]


CONTEXT = "contexts: [{name: a, context: {cluster: x}}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", " is not a valid kubeconfig."),
        ("a: [\n", "config:2: not valid YAML."),
        ("[]", " is not a valid kubeconfig."),
        ("{}", " does not set current-context."),
        (CONTEXT, " does not set current-context. Choose one with --context: a."),
        (f"current-context: b\n{CONTEXT}", " has no context b, which does not exist. There are: a."),
        (f"current-context: a\n{CONTEXT}", ": context a names cluster x, which does not exist."),
        (
            f"current-context: a\n{CONTEXT}\nclusters: [{{name: x, cluster: {{}}}}]",
            ": cluster x needs a server that starts with https://.",
        ),
        (
            f"users: [{{name: me, usr: {{token: {HIDDEN}}}}}]\ncurrent-context: a\n{CONTEXT}",
            ": context a names cluster",
        ),
    ],
)
def test_a_file_that_does_not_work_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(KubeconfigError) as raised:
        read(file)
    assert said in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert HIDDEN not in str(raised.value)


@pytest.mark.parametrize("source", ["token", "tokenFile", "exec"])
def test_a_token_is_used_without_white_space_around_it_and_never_shown(tmp_path: Path, source: str) -> None:
    for token in (f"\n {HIDDEN}\r\n", f"x\n{HIDDEN}", f"é{HIDDEN}"):
        (tmp_path / "file").write_text(token, newline="")
        users = {
            "token": plugin(tmp_path, {"token": "other"}, token=token),
            "tokenFile": {"tokenFile": "file"},
            "exec": plugin(tmp_path, {"token": token}),
        }
        file = write(tmp_path / "config", SERVER, users[source])
        message = "user me holds characters that no token has"
        if token.strip() == HIDDEN:
            found = read(file)
            assert found.authorization == f"Bearer {HIDDEN}"
            assert HIDDEN not in repr(found)
            write(file, f"http://me:{HIDDEN}@api.example.com", users[source])
            message = "of user me would be sent over http, in clear"
        with pytest.raises(KubeconfigError, match=message) as raised:
            read(file)
        assert HIDDEN not in str(raised.value)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            {"command": "no-such"},
            "no-such, the exec plugin of user me in FILE, can't be run: No such file or directory.",
        ),
        ({"command": "no-such", "installHint": "brew install\nit"}, "No such file or directory. brew install it."),
        ({"command": "aws-not"}, "Install aws-not, or put its folder on PATH."),
        (
            {"command": "sh", "args": ["-c", "echo a; echo b; echo c >&2; exit 3"]},
            "FILE, failed: process returned 3. c.",
        ),
        ({"command": "echo", "args": [HIDDEN]}, "FILE, failed: failed to decode process output: "),
        ({"command": "echo", "args": [f'{{"apiVersion": "{V1}", "kind": "", "status": {{}}}}']}, "neither a token nor"),
        ({"command": "echo", "args": [f'{{"apiVersion": "{V1}beta1", "kind": "", "status": {{}}}}']}, "does not match"),
    ],
)
def test_an_exec_plugin_that_gives_no_token_is_an_error(tmp_path: Path, section: dict[str, Any], said: str) -> None:
    file = write(tmp_path / "config", SERVER, {"exec": {"apiVersion": V1, **section}})
    with pytest.raises(ClusterError) as raised:
        read(file)
    assert said.replace("FILE", str(file)) in str(raised.value)
    assert HIDDEN not in str(raised.value)


def test_an_exec_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "certificate", "clientKeyData": "key"}
    found = read(write(tmp_path / "config", SERVER, plugin(tmp_path, status))).configuration
    assert (Path(found.cert_file).read_text(), Path(found.key_file).read_text()) == ("certificate", "key")


odd = st.sampled_from([None, True, 5, "", "x", "x\n", "https://[::1", [], [5], {}, {"a": 1}])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_kubeconfig_is_read_or_is_one_error_without_the_token(tmp_path: Path, data: st.DataObject) -> None:
    user = {"token": HIDDEN, "client-certificate-data": "aGk=", "exec": {"apiVersion": V1, "command": "false"}}
    cluster = {"certificate-authority-data": "aGk=", "proxy-url": "http://127.0.0.1:1", "tls-server-name": "x"}
    file = write(tmp_path / "config", SERVER, user, **cluster)
    made: Any = json.loads(file.read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        here = made
        while True:
            keys = list(here) if isinstance(here, dict) else list(range(len(here)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if not isinstance(here[key], dict | list) or data.draw(st.booleans()):
                here[key] = copy.deepcopy(data.draw(odd))
                break
            here = here[key]
    file.write_text(json.dumps(made))
    said = ""
    try:
        read(file)
    except MultiarchError as error:
        said = str(error)
    assert HIDDEN not in said
