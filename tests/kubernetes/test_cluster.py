"""Busy, forgetful and broken API servers, stood in for; and TLS, proxies and bounds of one."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path
from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.kubernetes import client
from multiarch.kubernetes.cluster import KubernetesCluster
from multiarch.kubernetes.errors import ClusterError, KubeconfigError
from multiarch.kubernetes.resources import PODS, SECRETS
from multiarch.registry.credentials import helpers
from multiarch.registry.errors import DETAIL_LENGTH
from multiarch.registry.settings import MIB
from tests.kubernetes.api_server import Answer, Request, listed, rejected, serving
from tests.kubernetes.certificates import authority
from tests.kubernetes.kubeconfigs import opened
from tests.quotations import ROOT

HIDDEN = "made-up-and-never-shown"


class Script:
    """Answers in their order; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self.left = list(answers)

    def __call__(self, _: Request) -> Answer:
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def names(cluster: KubernetesCluster) -> list[str]:
    with cluster:
        return [found.value["metadata"]["name"] for found in cluster.objects([PODS], limit=2)]


def test_a_list_that_is_forgotten_between_its_pages_is_an_error(tmp_path: Path) -> None:
    def answer(request: Request) -> Answer:
        return rejected(410, "Expired", "too old") if "continue" in request.query else listed(["a"], more="1")

    with (
        serving(answer) as server,
        pytest.raises(ClusterError, match="answered list pods with status 410: too old") as raised,
    ):
        names(opened(tmp_path, server.url))
    assert raised.value.status == 410
    assert len(server.requests) == 2


def test_a_busy_server_is_queried_again(tmp_path: Path) -> None:
    script = Script(rejected(500), rejected(429, **{"Retry-After": "0"}), listed(["a"]))
    with serving(script) as server:
        assert names(opened(tmp_path, server.url)) == ["a"]
    assert len(server.requests) == 3


def test_retry_after_is_followed_up_to_a_maximum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", waited.append)
    script = Script(rejected(429, **{"Retry-After": "7"}), rejected(429, **{"Retry-After": "3600"}), listed(["a"]))
    with serving(script) as server:
        assert names(opened(tmp_path, server.url)) == ["a"]
    assert waited == [7, client.LONGEST_WAIT]


def test_a_server_that_stays_busy_is_an_error_after_five_attempts(tmp_path: Path) -> None:
    with serving(Script(rejected(503, "ServiceUnavailable", "etcd is down"))) as server:
        with pytest.raises(ClusterError) as raised:
            names(opened(tmp_path, server.url))
        assert str(raised.value).endswith("answered list pods with status 503: etcd is down. Try again later.")
    assert len(server.requests) == client.ATTEMPTS


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, b"<html>Welcome</html>", {}), "did not answer with a Kubernetes object"),
        ((200, {"status": "fine"}, {}), "did not answer with a list of pods"),
        ((302, b"", {"Location": "http://127.0.0.1:1/elsewhere"}), "answered list pods with status 302"),
        ((404, {"message": "first\n\x1b[31msecond " + "long " * 200}, {}), r"status 404: first \[31msecond long"),
    ],
)
def test_what_is_not_an_api_server_is_said_to_be_none(tmp_path: Path, answer: Answer, said: str) -> None:
    with serving(Script(answer)) as server, pytest.raises(ClusterError, match=said) as raised:
        names(opened(tmp_path, server.url))
    assert len(server.requests) == 1
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 500


def test_an_answer_has_a_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_LIMIT", MIB)
    packed = gzip.compress(b'{"items": [' + b" " * (2 * MIB) + b"]}", 1)
    with (
        serving(lambda _: (200, packed, {"Content-Encoding": "gzip"})) as server,
        pytest.raises(ClusterError, match=r"sent an answer of more than 1 MiB\."),
    ):
        names(opened(tmp_path, server.url))


def test_an_answer_has_a_maximum_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "DATA_SECONDS", 0.05)
    monkeypatch.setattr(client, "ATTEMPTS", 1)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ClusterError, match=r"can't be reached: .*tim"),
    ):
        names(opened(tmp_path, f"http://127.0.0.1:{silent.getsockname()[1]}"))


def test_the_page_about_failures_has_these_bounds() -> None:
    text = " ".join((ROOT / "docs" / "reference" / "failures.md").read_text(encoding="utf-8").split())
    for row in (
        f"| waiting for data of an API server | {client.DATA_SECONDS:.0f} s |",
        f"| one answer of an API server, decompressed | {client.ANSWER_LIMIT // MIB} MiB |",
        f"| an error message | {DETAIL_LENGTH} characters |",
        f"`Retry-After` is followed up to {client.LONGEST_WAIT} s",
        f"A docker credential helper has {helpers.TIMEOUT:.0f} s.",
    ):
        assert row in text, row


def test_a_server_that_is_not_there_is_unreachable_at_once(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(ClusterError, match="of context here can't be reached: Connection refused"):
            names(opened(tmp_path, f"https://127.0.0.1:{port}"))
    with pytest.raises(ClusterError, match=r"no-such-host.invalid of context here can't be reached: "):
        names(opened(tmp_path, "https://no-such-host.invalid"))
    with (
        serving(Script(listed(["a"]))) as server,
        pytest.raises(ClusterError, match=r"can't be reached over TLS: .*HTTPS address"),
    ):
        names(opened(tmp_path, server.url.replace("http://", "https://")))


def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    ours = authority(tmp_path)
    certificate, key = ours.issue("somebody", tmp_path)
    user = {"client-certificate": certificate.name, "client-key": str(key)}
    trusted: dict[str, Any] = {"certificate-authority": "authority.crt"}
    with serving(Script(listed(["a"])), pair=ours.issue("server", tmp_path), clients=ours.certificate) as server:
        assert names(opened(tmp_path, server.url, user, **trusted)) == ["a"]
        with pytest.raises(ClusterError, match="can't be reached"):
            names(opened(tmp_path, server.url, **trusted))
    assert [request.peer for request in server.requests] == ["somebody"]


def test_without_trust_nothing_is_sent_and_insecure_is_as_kubectl_has_it(tmp_path: Path) -> None:
    ours, other = authority(tmp_path), authority(tmp_path, "other")
    user = {"token": HIDDEN}
    with serving(Script(listed(["a"])), pair=ours.issue("server", tmp_path)) as server:
        for cluster in (
            {"certificate-authority": str(other.certificate)},
            {"certificate-authority": str(ours.certificate), "tls-server-name": "elsewhere"},
        ):
            with pytest.raises(ClusterError, match="is not trusted: "):
                names(opened(tmp_path, server.url, user, **cluster))
        assert server.requests == []
        assert names(opened(tmp_path, server.url, user, **{"insecure-skip-tls-verify": True})) == ["a"]


def test_a_proxy_is_used_and_its_password_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Script(listed(["a"]))) as proxy:
        given = proxy.url.replace("//", "//me:p%40ss@")
        monkeypatch.setenv("NO_PROXY", "api.invalid")
        assert names(opened(tmp_path, "http://api.invalid", None, **{"proxy-url": given})) == ["a"]
        assert proxy.requests[0].headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removeprefix("http://"))
        with pytest.raises(ClusterError, match="can't be reached: "):
            names(opened(tmp_path, "http://api.invalid"))
        monkeypatch.setenv("NO_PROXY", "10.0.0.0/8,.example.com")
        assert names(opened(tmp_path, "http://api.invalid")) == ["a"]
        assert [request.headers["host"] for request in proxy.requests] == ["api.invalid"] * 2
    with pytest.raises(ClusterError, match=r"through its proxy. Check proxy-url in the kubeconfig, or HTTPS_PROXY"):
        names(opened(tmp_path, "https://api.invalid", None, **{"proxy-url": "http://127.0.0.1:1"}))
    for broken in (f"socks5://me:{HIDDEN}@proxy", f"http://me:{HIDDEN}@[::1"):
        with pytest.raises(KubeconfigError, match="A proxy is http://HOST:PORT") as raised:
            opened(tmp_path, "https://api.invalid", None, **{"proxy-url": broken})
        assert HIDDEN not in str(raised.value)


def test_a_server_that_repeats_the_token_does_not_get_it_printed(tmp_path: Path) -> None:
    trusted: dict[str, Any] = {"certificate-authority": "authority.crt"}
    pair = authority(tmp_path).issue("server", tmp_path)
    with serving(lambda _: rejected(400, "Bad", f"token {HIDDEN} is wrong"), pair=pair) as server:
        with pytest.raises(MultiarchError, match=r"token \[secret\] is wrong"):
            names(opened(tmp_path, server.url, {"token": HIDDEN}, **trusted))
        assert server.requests[0].headers["authorization"] == f"Bearer {HIDDEN}"


def test_a_secret_is_read_as_it_is_or_not_there(tmp_path: Path) -> None:
    value = {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": "eyJhIjp7ImF1dGgiOiJiIn19"}}
    with serving(Script((200, value, {}), rejected(404))) as server, opened(tmp_path, server.url) as cluster:
        assert cluster.get(SECRETS, "a", "../b") == value
        assert cluster.get(SECRETS, "a", "b") is None
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/a/secrets/..%2Fb",
        "/api/v1/namespaces/a/secrets/b",
    ]
