"""Kubeconfigs: which files, merged how, and one line for each that does not work."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from multiarch.kubernetes import kubeconfig as kubeconfig_module
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.exec_plugin import run
from multiarch.kubernetes.kubeconfig import Connection, User, connection

SERVER = "https://api.example.com:6443"
EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-program", "interactiveMode": "Never"}


def write(file: Path, current: str = "", **contexts: dict[str, Any]) -> Path:
    """Write a kubeconfig; each context holds keys of its cluster and, below ``user``, of its user."""
    config: dict[str, Any] = {"clusters": [], "users": [], "contexts": [], "current-context": current}
    for name, words in contexts.items():
        cluster = {key: value for key, value in words.items() if key not in ("user", "namespace")}
        config["clusters"].append({"name": name, "cluster": {"server": SERVER, **cluster}})
        config["users"].append({"name": name, "user": words.get("user", {})})
        context = {"cluster": name, "user": name, "namespace": words.get("namespace", "")}
        config["contexts"].append({"name": name, "context": context})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(config))
    return file


def test_of_several_files_the_first_that_says_something_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "1", a={"server": "https://first"})
    second = write(tmp_path / "2", "b", a={"server": "https://second"}, b={"server": "https://b/", "namespace": "shop"})
    third = write(tmp_path / "3", "a")
    environ = {"KUBECONFIG": f"{tmp_path / 'not-there'}:{first}:{second}::{third}"}
    assert connection(environ=environ) == Connection("b", "https://b", User("b"), namespace="shop", file=str(second))
    assert connection(environ=environ, context="a").server == "https://first"
    assert connection(environ=environ, kubeconfig=third.with_name("2"), context="a").server == "https://second"


def test_without_kubeconfig_the_home_folders_counts(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", "a", a={})
    assert connection(environ={"HOME": str(tmp_path)}).name == "a"


def test_a_path_starts_at_its_files_folder(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    for name in ("ca.crt", "me.crt", "me.key"):
        (tmp_path / "pki" / name).write_text(name)
    user = {"client-certificate": "pki/me.crt", "client-key": "pki/me.key", "tokenFile": "pki/token"}
    file = write(tmp_path / "config", "a", a={"certificate-authority": "pki/ca.crt", "user": user})
    found = connection(kubeconfig=file)
    assert found.authority == "ca.crt"
    assert (found.user.certificate, found.user.key) == (b"me.crt", b"me.key")
    assert found.user.token_file == tmp_path / "pki" / "token"


def test_data_counts_before_a_path_and_nothing_secret_is_shown(tmp_path: Path) -> None:
    data = base64.b64encode(b"hidden").decode()
    user = {"client-certificate-data": data, "client-key-data": data, "token": "hidden", "exec": EXEC}
    cluster = {"certificate-authority-data": data, "certificate-authority": "not-there", "proxy-url": "http://hidden"}
    found = connection(kubeconfig=write(tmp_path / "config", "a", a={**cluster, "user": user}))
    assert (found.authority, found.user.key, found.user.token) == ("hidden", b"hidden", "hidden")
    assert "hidden" not in repr(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "config can't be read: No such file or directory. Create one with `aws eks update-kubeconfig"),
        ("", "does not set current-context."),
        ("a: [\n", "config:1: not valid YAML: "),
        ("[]", "is not a kubeconfig."),
        ("contexts: {}", "contexts must be a list."),
        ("contexts: [{name: a}, 5]", "each entry of contexts needs a name and a context."),
        (
            "current-context: b\ncontexts: [{name: a, context: {}}]",
            "has no context b, its current-context. There are: a.",
        ),
        ("current-context: a\ncontexts: [{name: a, context: {}}]", "context a does not name a cluster."),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: x}}]\nclusters: [{name: z, cluster: {}}]",
            "context a names cluster x, which does not exist. There are: z.",
        ),
        (
            "current-context: a\ncontexts: [{name: a, context: {cluster: x}}]\nclusters: [{name: x, cluster: {}}]",
            "cluster x needs a server that starts with https://.",
        ),
    ],
)
def test_a_file_that_does_not_work_is_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    file = tmp_path / "config"
    if text is not None:
        file.write_text(text)
    with pytest.raises(KubeconfigError) as raised:
        connection(kubeconfig=file)
    assert said in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"certificate-authority-data": "?"}, "certificate-authority-data of a is not valid base64."),
        ({"certificate-authority": "ca.crt"}, "certificate-authority of a, "),
        ({"server": 5}, "server of a must be a string."),
        ({"user": {"client-key-data": "aGk="}}, "needs both client-certificate and client-key."),
        ({"user": {"auth-provider": {"name": "gcp"}}}, "has an auth-provider, which Kubernetes removed in 1.26."),
        ({"user": {"exec": {"apiVersion": EXEC["apiVersion"]}}}, "exec of user a needs a command."),
        (
            {"user": {"exec": {**EXEC, "apiVersion": "client.authentication.k8s.io/v1alpha1"}}},
            "has the apiVersion client.authentication.k8s.io/v1alpha1. Use client.authentication.k8s.io/v1 or ",
        ),
        (
            {"user": {"exec": {**EXEC, "env": [{"name": "A"}]}}},
            "args must be strings, and each entry of env needs a name and a value.",
        ),
    ],
)
def test_a_context_that_does_not_work_is_one_line(tmp_path: Path, words: dict[str, Any], said: str) -> None:
    with pytest.raises(KubeconfigError) as raised:
        connection(kubeconfig=write(tmp_path / "config", "a", a=words))
    assert said in str(raised.value)


def test_an_unknown_context_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=r"has no context c. There are: a, b."):
        connection(kubeconfig=write(tmp_path / "config", "a", a={}, b={}), context="c")


def test_without_any_kubeconfig_the_way_to_one_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        KubeconfigError, match=r"No kubeconfig found: ~/.kube/config does not exist. Create one with `aws eks"
    ):
        connection(environ={"HOME": str(tmp_path)})


def test_in_a_pod_its_service_account_counts_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = tmp_path / "account"
    account.mkdir()
    for name in ("token", "ca.crt", "namespace"):
        (account / name).write_text(name)
    monkeypatch.setattr(kubeconfig_module._in_cluster, "__defaults__", (account,))  # noqa: SLF001 # a fixed folder
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    found = connection(environ=environ)
    assert (found.server, found.namespace, found.user.token_file) == (
        "https://[fd00::1]:443",
        "namespace",
        account / "token",
    )
    write(tmp_path / ".kube" / "config", "a", a={})
    assert connection(environ=environ).name == "a"


PRINTS = "#!/bin/sh\necho 'a first line' >&2; echo 'session expired' >&2; echo 'hidden'; exit CODE\n"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (None, "no-such-program, the credential plugin of user a in "),
        (PRINTS.replace("CODE", "3"), "failed: session expired."),
        (PRINTS.replace("CODE", "0"), "did not print an ExecCredential."),
        (
            '#!/bin/sh\necho \'{"status": {"token": "hidden"}}\'\n',
            "did not print an ExecCredential of client.authentication",
        ),
        (
            f'#!/bin/sh\necho \'{{"apiVersion": "{EXEC["apiVersion"]}", "status": {{}}}}\'\n',
            "did not print an ExecCredential with a token or a certificate.",
        ),
        ("no program", "can't be run: Exec format error."),
    ],
)
def test_a_plugin_that_does_not_work_is_one_line_without_what_it_printed(
    tmp_path: Path, program: str | None, said: str
) -> None:
    words: dict[str, Any] = dict(EXEC)
    if program is not None:
        file = tmp_path / "program"
        file.write_text(program)
        file.chmod(0o700)
        words["command"] = "./program"
    plugin = connection(kubeconfig=write(tmp_path / "config", "a", a={"user": {"exec": words}})).user.plugin
    assert plugin is not None
    with pytest.raises(ClusterError) as raised:
        run(plugin)
    assert said in str(raised.value)
    assert "hidden" not in str(raised.value)
    assert raised.value.exit_code == 3


def test_a_missing_plugin_says_what_the_kubeconfig_says_about_installing_it(tmp_path: Path) -> None:
    words = {**EXEC, "installHint": "Get it from\nthe platform team."}
    plugin = connection(kubeconfig=write(tmp_path / "config", "a", a={"user": {"exec": words}})).user.plugin
    assert plugin is not None
    with pytest.raises(ClusterError, match=r"is not installed. Get it from the platform team."):
        run(plugin)
