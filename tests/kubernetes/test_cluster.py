"""Busy, forgetful and broken API servers, stood in for; and certificates of clients, with real TLS."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.kubeconfig import Connection, User
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.transport import ATTEMPTS
from tests.kubernetes.api_server import Answer, Request, listed, refused, serving
from tests.kubernetes.certificates import authority

CREDENTIAL = "made-up-and-never-shown"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


class Script:
    """Answers in their order; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.left = list(answers)

    def __call__(self, _: Request) -> Answer:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def names(cluster: Cluster) -> list[str]:
    return [found.value["metadata"]["name"] for found in cluster.objects([Kind.POD], limit=2)]


def opened(url: str, user: User | None = None, **more: object) -> Cluster:
    return Cluster(Connection("here", url, user or User("me"), **more), first_wait=0.001)  # type: ignore[arg-type]


def test_a_forgotten_continue_token_starts_the_list_again_without_saying_anything_twice() -> None:
    gone = refused(410, "Expired", "The provided continue parameter is too old")
    script = Script(
        listed(["a", "b"], more="1"), gone, listed(["a", "b"], more="2"), listed(["c", "d"], more="3"), gone,
        listed(["a", "c"], more="4"), listed(["d", "e"]),
    )  # fmt: skip
    with serving(script) as server:
        assert names(opened(server.url)) == ["a", "b", "c", "d", "e"]
    assert [request.query.get("continue") for request in server.requests] == [None, "1", None, "2", "3", None, "4"]


def test_a_list_that_is_forgotten_again_and_again_is_an_error() -> None:
    def answer(request: Request) -> Answer:
        return refused(410, "Expired", "too old") if "continue" in request.query else listed(["a"], more="1")

    with (
        serving(answer) as server,
        pytest.raises(ClusterError, match="answered list pods with status 410: too old") as raised,
    ):
        names(opened(server.url))
    assert raised.value.status == 410
    assert len(server.requests) == 8


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int) -> None:
    script = Script(refused(status), refused(status, **{"Retry-After": "0"}), listed(["a"]))
    with serving(script) as server:
        assert names(opened(server.url)) == ["a"]
    assert len(server.requests) == 3


def test_as_long_as_the_server_asks_for_is_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("multiarch.kubernetes.transport.time.sleep", waited.append)
    script = Script(refused(429, **{"Retry-After": "7"}), refused(429, **{"Retry-After": "3600"}), listed(["a"]))
    with serving(script) as server:
        assert names(opened(server.url)) == ["a"]
    assert len(waited) == 2
    assert 7.0005 <= waited[0] <= 7.001
    assert waited[1] == 30.0


def test_a_server_that_stays_busy_is_an_error_after_five_attempts() -> None:
    with serving(Script(refused(503, "ServiceUnavailable", "etcd is down"))) as server:
        with pytest.raises(ClusterError) as raised:
            names(opened(server.url))
        assert str(raised.value).endswith("answered list pods with status 503: etcd is down. Try again later.")
    assert len(server.requests) == ATTEMPTS


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    broken: Answer = (200, b'{"items": [', {"Content-Length": "5000", "Connection": "close"})

    with serving(Script(broken, listed(["a"]))) as server:
        assert names(opened(server.url)) == ["a"]


def test_what_is_not_an_api_server_is_said_to_be_none() -> None:
    page: Answer = (200, b"<html>Welcome</html>", {})
    with serving(Script(page)) as server, pytest.raises(ClusterError, match="did not answer with a Kubernetes object"):
        names(opened(server.url))


def test_no_credential_follows_a_redirect(tmp_path: Path) -> None:
    elsewhere: Answer = (302, b"", {"Location": "http://127.0.0.1:1/elsewhere"})
    ours = authority(tmp_path)
    with serving(Script(elsewhere), pair=ours.issue("server", tmp_path)) as server:
        cluster = opened(server.url, User("me", token=CREDENTIAL), authority=ours.certificate.read_text())
        with pytest.raises(ClusterError, match="answered list pods with status 302"):
            names(cluster)
    assert len(server.requests) == 1


def test_a_server_that_is_not_there_is_unreachable_at_once() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(ClusterError, match="of context here can't be reached: connection refused"):
            names(opened(f"https://127.0.0.1:{port}"))
    with pytest.raises(ClusterError, match="can't be reached: its host name can't be resolved"):
        names(opened("https://no-such-host.invalid"))


def test_plain_http_behind_https_is_named() -> None:
    with serving(Script(listed(["a"]))) as server, pytest.raises(ClusterError, match="can't be reached over TLS: "):
        names(opened(server.url.replace("http://", "https://")))


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    certificate, key = ours.issue("somebody", tmp_path)
    user = User("me", certificate=certificate.read_bytes(), key=key.read_bytes())
    trusted = ours.certificate.read_text()
    with serving(Script(listed(["a"])), pair=ours.issue("server", tmp_path), clients=ours.certificate) as server:
        assert names(opened(server.url, user, authority=trusted)) == ["a"]
        with pytest.raises(ClusterError, match=r"can't be reached|can't be reached over TLS"):
            names(opened(server.url, authority=trusted))
    assert [request.peer for request in server.requests] == ["somebody"]


def test_without_trust_nothing_is_sent_and_insecure_is_as_kubectl_has_it(tmp_path: Path) -> None:
    ours, other = authority(tmp_path), authority(tmp_path, "other")
    user = User("me", token=CREDENTIAL)
    with serving(Script(listed(["a"])), pair=ours.issue("server", tmp_path)) as server:
        with pytest.raises(ClusterError, match="is not trusted: "):
            names(opened(server.url, user, authority=other.certificate.read_text()))
        assert server.requests == []
        assert names(opened(server.url, user, insecure=True)) == ["a"]


def test_certificates_that_are_none_are_said_to_be_none() -> None:
    for text in ("no PEM", "\ufffd"):
        with pytest.raises(KubeconfigError, match="certificate-authority of context here is not a PEM certificate"):
            opened("https://127.0.0.1:1", authority=text, file="config")
    with pytest.raises(KubeconfigError, match="client certificate and key of user me are not a matching PEM pair"):
        opened("https://127.0.0.1:1", User("me", certificate=b"a", key=b"b"))


def test_a_proxy_is_used_and_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Script(listed(["a"]))) as proxy:
        assert names(opened("http://api.invalid", proxy=proxy.url)) == ["a"]
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert names(opened("http://api.invalid")) == ["a"]
        assert [request.headers["host"] for request in proxy.requests] == ["api.invalid"] * 2
    with pytest.raises(ClusterError) as raised:
        names(opened("https://api.invalid", proxy="http://me:hidden@127.0.0.1:1"))
    assert "through its proxy" in str(raised.value)
    assert "hidden" not in str(raised.value)
    with pytest.raises(KubeconfigError, match=r"proxy .* can't be used. Set proxy-url in the kubeconfig to http"):
        opened("https://api.invalid", proxy="socks5://127.0.0.1:1")


def test_credentials_go_into_the_header_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    users = [
        User("a", token=CREDENTIAL),
        User("b", token_file=file, token=CREDENTIAL),
        User("c", basic=("me", CREDENTIAL)),
    ]
    ours = authority(tmp_path)
    trusted = ours.certificate.read_text()
    with serving(Script(listed(["a"])), pair=ours.issue("server", tmp_path)) as server:
        for user in users:
            names(opened(server.url, user, authority=trusted))
            assert CREDENTIAL not in repr(user)
    assert [request.headers["authorization"] for request in server.requests] == [
        f"Bearer {CREDENTIAL}",
        "Bearer from-a-file",
        f"Basic {base64.b64encode(b'me:' + CREDENTIAL.encode()).decode()}",
    ]
    with pytest.raises(ClusterError, match=r"token file .* can't be read: No such file"):
        names(opened(server.url, User("b", token_file=tmp_path / "gone"), authority=trusted))


def test_a_secret_is_read_as_it_is_or_not_there() -> None:
    value = {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "eyJhIjp7ImF1dGgiOiJiIn19"}}
    with serving(Script((200, value, {}), refused(404))) as server:
        assert opened(server.url).secret("a", "b") == value
        assert opened(server.url).secret("a", "b") is None
    assert [request.path for request in server.requests] == ["/api/v1/namespaces/a/secrets/b"] * 2


def test_names_can_not_leave_their_place_in_the_path() -> None:
    with serving(Script(listed([]))) as server:
        cluster = opened(server.url)
        list(cluster.objects([Kind.POD], namespaces=["../../x"]))
    assert _paths(server.requests) == ["/api/v1/namespaces/..%2F..%2Fx/pods"]


def _paths(requests: Iterable[Request]) -> list[str]:
    return [request.path for request in requests]
