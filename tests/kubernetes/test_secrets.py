"""Tokens and passwords of a kubeconfig: taken as they are, never shown, never sent in clear text."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from multiarch.cli import main
from multiarch.errors import MultiarchError
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.errors import KubeconfigError
from multiarch.kubernetes.exec_plugin import ExecPlugin
from multiarch.kubernetes.kubeconfig import Connection, User, connection
from multiarch.kubernetes.resources import Kind
from tests.kubernetes.api_server import listed, refused, serving
from tests.kubernetes.certificates import authority

HIDDEN = "made-up-and-never-shown"
V1 = "client.authentication.k8s.io/v1"
BROKEN = {
    "line break": f"first\n{HIDDEN}",
    "carriage return": f"{HIDDEN}\r\nX-Injected: yes",
    "Latin": f"{HIDDEN}é",
    "not Latin": f"{HIDDEN}–令牌",
    "surrogate": f"{HIDDEN}\ud800",
    "null": f"{HIDDEN}\0",
    "space": f"{HIDDEN} {HIDDEN}",
}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def kubeconfig(folder: Path, user: dict[str, Any], **cluster: Any) -> Path:
    file = folder / "config"
    parts = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1", **cluster}}],
        "users": [{"name": "me", "user": user}],
    }
    file.write_text(json.dumps(parts))
    return file


def plugin(folder: Path, answer: object) -> dict[str, Any]:
    """An exec section whose program prints ``answer`` as JSON."""
    (folder / "answer").write_text(json.dumps(answer))
    program = folder / "plugin"
    program.write_text('#!/bin/sh\ncat "$(dirname "$0")/answer"\n')
    program.chmod(0o700)
    return {"exec": {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"}}


def credential(token: object) -> dict[str, Any]:
    return {"apiVersion": V1, "status": {"token": token}}


def audited(file: Path, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of an audit with a kubeconfig, and all that it printed."""
    code = main(["audit", "workloads", "--kubeconfig", str(file)])
    printed = capfd.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize("token", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("source", ["token", "tokenFile", "exec"])
def test_a_token_that_no_header_can_hold_is_one_line_without_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], source: str, token: str
) -> None:
    (tmp_path / "file").write_bytes(token.encode(errors="surrogatepass"))
    users = {"token": {"token": token}, "tokenFile": {"tokenFile": "file"}, "exec": plugin(tmp_path, credential(token))}
    code, said = audited(kubeconfig(tmp_path, users[source]), capfd)
    assert code in (2, 3)
    assert said.startswith("error: ")
    assert said.count("\n") <= 2
    assert HIDDEN not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("token", [HIDDEN, f"{HIDDEN}\n", f"\n {HIDDEN}\r\n"])
@pytest.mark.parametrize("source", ["token", "tokenFile", "exec"])
def test_white_space_around_a_token_does_not_count(tmp_path: Path, source: str, token: str) -> None:
    ours = authority(tmp_path)
    (tmp_path / "file").write_bytes(token.encode())
    users = {"token": {"token": token}, "tokenFile": {"tokenFile": "file"}, "exec": plugin(tmp_path, credential(token))}
    with serving(lambda _: listed(["a"]), pair=ours.issue("server", tmp_path)) as server:
        file = kubeconfig(
            tmp_path, users[source], server=server.url, **{"certificate-authority": str(ours.certificate)}
        )
        with Cluster(connection(kubeconfig=file)) as cluster:
            assert len(list(cluster.objects([Kind.POD]))) == 1
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {HIDDEN}"]


def test_a_token_counts_before_a_plugin(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    user = {"token": HIDDEN, **plugin(tmp_path, credential("other"))}
    with serving(lambda _: listed(["a"]), pair=ours.issue("server", tmp_path)) as server:
        file = kubeconfig(tmp_path, user, server=server.url, **{"certificate-authority": str(ours.certificate)})
        with Cluster(connection(kubeconfig=file)) as cluster:
            assert len(list(cluster.objects([Kind.POD]))) == 1
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {HIDDEN}"]


@pytest.mark.parametrize("content", ["", "\n"])
def test_an_empty_token_file_is_said_to_be_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    found = Connection("here", "https://127.0.0.1:1", User(token_file=tmp_path / "token"))
    with Cluster(found) as cluster, pytest.raises(MultiarchError, match=r"The token file .*/token is empty\."):
        list(cluster.objects([Kind.POD]))


USERS = {
    "token": User("me", token=HIDDEN),
    "file": User("me", token_file=Path("/dev/null")),
    "password": User("me", basic=("me", HIDDEN)),
    "plugin": User("me", plugin=ExecPlugin("me", Path("config"), V1, "aws")),
}


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
def test_credentials_are_never_sent_in_clear_text(user: User) -> None:
    with serving(lambda _: listed(["a"])) as server:
        with pytest.raises(KubeconfigError) as raised:
            Cluster(Connection("here", server.url, user, file="config"))
        assert server.requests == []
    assert str(raised.value).startswith(f"The credentials of user me would be sent to {server.url} in clear text.")
    assert "https://" in raised.value.hint
    assert HIDDEN not in str(raised.value)


def test_kubectl_proxy_needs_no_credentials() -> None:
    with serving(lambda _: listed(["a"])) as server, Cluster(Connection("here", server.url, User("me"))) as cluster:
        assert len(list(cluster.objects([Kind.POD]))) == 1
    assert "authorization" not in server.requests[0].headers


def test_a_server_that_repeats_the_token_does_not_get_it_printed(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    with serving(
        lambda _: refused(400, "Bad", f"token {HIDDEN} is wrong"), pair=ours.issue("server", tmp_path)
    ) as server:
        found = Connection("here", server.url, User("me", token=HIDDEN), authority=ours.certificate.read_text())
        with Cluster(found) as cluster, pytest.raises(MultiarchError, match=r"token \[secret\] is wrong"):
            list(cluster.objects([Kind.POD]))


@pytest.mark.parametrize(
    "server",
    [
        f"https://me:{HIDDEN}@api.example.com",
        f"http://me:{HIDDEN}@127.0.0.1:1",
        f"https://{HIDDEN}@api.example.com:443/path",
        f"https://me:{HIDDEN}@[::1",
        f"https://me:{HIDDEN}@",
        f"me:{HIDDEN}@api.example.com",
    ],
)
def test_a_password_in_a_servers_address_is_refused_and_not_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], server: str
) -> None:
    code, said = audited(kubeconfig(tmp_path, {}, server=server), capfd)
    assert code == 2
    assert HIDDEN not in said
    assert "cluster here " in said


@pytest.mark.parametrize(
    "proxy", [f"socks5://me:{HIDDEN}@proxy", f"http://me:{HIDDEN}@[::1", f"http://me:{HIDDEN}@", f"me:{HIDDEN}@proxy"]
)
@pytest.mark.parametrize("source", ["proxy-url", "HTTPS_PROXY"])
def test_a_proxy_that_can_not_be_used_is_one_line_without_its_password(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, proxy: str, source: str
) -> None:
    if source == "HTTPS_PROXY":
        if "://" not in proxy:
            return  # a proxy of the environment may leave out its scheme
        monkeypatch.setenv("https_proxy", proxy)
        monkeypatch.setenv(source, proxy)
    cluster = {source: proxy} if source == "proxy-url" else {}
    code, said = audited(kubeconfig(tmp_path, {}, **cluster), capfd)
    assert code == 2
    assert "The proxy for https://127.0.0.1:1 can't be used." in said
    assert source in said
    assert HIDDEN not in said


@pytest.mark.parametrize(("name", "password"), [("me", "p@ss:wörd/令牌"), ("mé", "x")])
def test_names_and_passwords_may_have_any_characters(tmp_path: Path, name: str, password: str) -> None:
    ours = authority(tmp_path)
    with serving(lambda _: listed([]), pair=ours.issue("server", tmp_path)) as server:
        found = Connection("here", server.url, User("me", basic=(name, password)), ours.certificate.read_text())
        with Cluster(found) as cluster:
            assert list(cluster.objects([Kind.POD])) == []
    assert server.requests[0].headers["authorization"] == _basic(name, password)


def test_a_proxys_password_is_sent_as_it_was_meant() -> None:
    with serving(lambda _: listed([])) as proxy:
        port = proxy.url.rpartition(":")[2]
        found = Connection("here", "http://api.invalid", User(), proxy=f"http://me:p%40ss%C3%A9@127.0.0.1:{port}")
        with Cluster(found) as cluster:
            assert list(cluster.objects([Kind.POD])) == []
    assert proxy.requests[0].headers["proxy-authorization"] == _basic("me", "p@ssé")


def _basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"
