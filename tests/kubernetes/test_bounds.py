"""What an API server may cost: bytes, objects, pages, seconds; and answers of wrong types."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from multiarch.kubernetes import cluster as cluster_module
from multiarch.kubernetes import exec_plugin, transport
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.errors import ClusterError
from multiarch.kubernetes.kubeconfig import Connection, User
from multiarch.kubernetes.resources import Kind
from multiarch.registry.credentials import helpers
from multiarch.registry.errors import DETAIL_LENGTH
from multiarch.registry.settings import MIB
from tests.kubernetes.api_server import Answer, Request, listed, serving
from tests.quotations import ROOT


def test_the_page_about_failures_has_these_bounds() -> None:
    text = (ROOT / "docs" / "reference" / "failures.md").read_text(encoding="utf-8")
    for row in (
        f"| one answer, with all attempts and waits | {transport.ANSWER_SECONDS:.0f} s |",
        f"| one answer, decompressed | {transport.ANSWER_LIMIT // MIB} MiB;",
        f"| one list | {cluster_module.LIST_OBJECTS:,} objects, {cluster_module.LIST_SECONDS:,.0f} s, ",
        f"| an error message | {DETAIL_LENGTH} characters |",
        f"`Retry-After` is followed up to {transport.LONGEST_WAIT:.0f} s",
        f"without a terminal has {exec_plugin.SECONDS:.0f} s, and {exec_plugin.OUTPUT_LIMIT // MIB} MiB of output",
        f"A docker credential helper has {helpers.TIMEOUT:.0f} s.",
    ):
        assert row in text, row


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def read(url: str, kind: Kind = Kind.POD, *, limit: int = 500) -> list[str]:
    with Cluster(Connection("here", url, User()), first_wait=0.001) as cluster:
        return [found.value["metadata"]["name"] for found in cluster.objects([kind], limit=limit)]


def test_a_small_answer_that_unpacks_to_a_large_one_is_refused_without_holding_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "ANSWER_LIMIT", 4 * MIB)
    packed = gzip.compress(b'{"items": [' + b" " * (64 * MIB), 1)
    assert len(packed) < MIB
    with serving(lambda _: (200, packed, {"Content-Encoding": "gzip"})) as server:
        tracemalloc.start()
        try:
            with pytest.raises(ClusterError, match=r"sent an answer of more than 4 MiB\."):
                read(server.url)
            assert tracemalloc.get_traced_memory()[1] < 12 * MIB
        finally:
            tracemalloc.stop()


def test_a_page_that_is_too_large_is_asked_for_in_smaller_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "ANSWER_LIMIT", 1500)
    names = [f"pod-{number:02}-{'x' * 50}" for number in range(40)]

    def answer(request: Request) -> Answer:
        start, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
        end = start + limit
        return listed(names[start:end], more=str(end) if end < len(names) else "")

    with serving(answer) as server:
        assert read(server.url, limit=20) == names
    assert {request.query["limit"] for request in server.requests} == {"20", "2"}


def test_an_error_that_is_too_long_is_an_error_without_its_text() -> None:
    body = json.dumps({"reason": "x", "message": "y" * MIB}).encode()
    with serving(lambda _: (404, body, {})) as server, pytest.raises(ClusterError, match=r"status 404\."):
        read(server.url)


def test_a_message_of_the_server_is_one_line_of_what_can_be_printed() -> None:
    status = {"reason": "Invalid", "message": "first\n\x1b[31msecond\u202e " + "long " * 200}
    with serving(lambda _: (404, status, {})) as server, pytest.raises(ClusterError) as raised:
        read(server.url)
    assert "first [31msecond long" in raised.value.message
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 500


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    with (
        serving(lambda _: (200, b"{}", {"Content-Encoding": "gzip, gzip"})) as server,
        pytest.raises(ClusterError, match="unrequested Content-Encoding: gzip, gzip"),
    ):
        read(server.url)


def test_a_broken_compression_is_an_error() -> None:
    with (
        serving(lambda _: (200, b"no gzip", {"Content-Encoding": "gzip"})) as server,
        pytest.raises(ClusterError, match="its answer can't be decompressed"),
    ):
        read(server.url)


@pytest.mark.parametrize("per_page", [0, 1])
def test_a_list_of_pages_with_next_to_nothing_ends(per_page: int) -> None:
    numbers = itertools.count()

    def answer(_: Request) -> Answer:
        return listed([f"pod-{next(numbers)}" for _ in range(per_page)], more=f"token-{next(numbers)}")

    with serving(answer) as server, pytest.raises(ClusterError, match="the list of pods does not end: "):
        read(server.url)
    assert len(server.requests) < 200


def test_a_list_of_full_pages_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LIST_OBJECTS", 100)
    numbers = itertools.count()

    def answer(_: Request) -> Answer:
        return listed([f"pod-{next(numbers)}" for _ in range(20)], more="more")

    with serving(answer) as server, pytest.raises(ClusterError, match="does not end: 120 objects"):
        read(server.url, limit=20)


def test_a_list_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "LIST_SECONDS", 0.05)
    numbers = itertools.count()

    def answer(_: Request) -> Answer:
        time.sleep(0.02)
        return listed([f"pod-{next(numbers)}" for _ in range(20)], more="more")

    with serving(answer) as server, pytest.raises(ClusterError, match="the list of pods does not end"):
        read(server.url, limit=20)


BODY_DRIP = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{"
UNBOUNDED_BODY_DRIP = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"
CHUNK_DRIP = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n{"
GZIP_HEADER = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03"
"""The start of a gzip stream whose file name never ends."""
GZIP_DRIP = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n" + GZIP_HEADER


@contextlib.contextmanager
def dripping(start: bytes, drop: bytes) -> Iterator[str]:
    """A server that answers with ``start`` and then never ends, a little at a time."""
    done = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(start)
            while not done.wait(0.02):
                connection.sendall(drop)

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=drip, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Slow: ", b"x"),
        (b"HTTP/1.1 ", b"2"),
        (BODY_DRIP, b" "),
        (UNBOUNDED_BODY_DRIP, b" "),
        (CHUNK_DRIP, b" "),
        (GZIP_DRIP, b"x"),
    ],
    ids=["headers", "status", "body", "unbounded body", "chunk", "gzip"],
)
def test_an_answer_that_drips_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch, start: bytes, drop: bytes) -> None:
    monkeypatch.setattr(transport, "ANSWER_SECONDS", 0.3)
    began = time.monotonic()
    with dripping(start, drop) as url, pytest.raises(ClusterError, match="did not finish its answer within 0 s"):
        read(url)
    assert time.monotonic() - began < 5


def test_a_server_that_asks_to_wait_longer_than_the_deadline_is_an_error_at_once() -> None:
    with serving(lambda _: (503, {}, {"Retry-After": "20"})) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "ANSWER_SECONDS", 1)
        with pytest.raises(ClusterError, match="with status 503"):
            read(server.url)
    assert len(server.requests) == 1


POD = {"metadata": {"name": "a", "uid": "1"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ({"items": 5}, "list of pods: items: must be a list, not 5."),
        ({"items": {}}, "list of pods: items: must be a list, not {}."),
        ({"metadata": 5}, "list of pods: metadata: must be a mapping, not 5."),
        ({"metadata": {"continue": 5}}, "list of pods: metadata.continue: must be a string, not 5."),
        ({"items": [5]}, "Pod: must be a mapping, not 5."),
        ({"items": [{}]}, "Pod: metadata.name: is missing or empty."),
        ({"items": [{"metadata": "a"}]}, "Pod: metadata: must be a mapping, not 'a'."),
        ({"items": [{"metadata": {"name": "a"}}]}, "Pod a: metadata.uid: is missing or empty."),
        ({"items": [POD | {"metadata": {"name": "a", "uid": "1", "labels": {"a": 1}}}]}, "metadata.labels.a: must be"),
        ({"items": [POD | {"metadata": {"name": "a", "uid": "1", "annotations": []}}]}, "metadata.annotations: must"),
        ({"items": [POD | {"spec": "a"}]}, "Pod a: spec: must be a mapping, not 'a'."),
        ({"items": [POD | {"status": []}]}, "Pod a: status: must be a mapping, not []."),
        ({"items": [POD | {"spec": {"containers": {}}}]}, "spec.containers: must be a list, not {}."),
        ({"items": [POD | {"spec": {"containers": ["a"]}}]}, "spec.containers[0]: must be a mapping, not 'a'."),
        ({"items": [POD | {"spec": {"containers": [None]}}]}, "spec.containers[0]: must be a mapping, not null."),
        ({"items": [POD | {"spec": {"initContainers": [{"image": 1}]}}]}, "initContainers[0].image: must be a string"),
        ({"items": [POD | {"spec": {"imagePullSecrets": ["a"]}}]}, "imagePullSecrets[0]: must be a mapping"),
    ],
)
def test_an_object_of_wrong_types_is_one_line(page: object, said: str) -> None:
    with serving(lambda _: (200, page, {})) as server, pytest.raises(ClusterError) as raised:
        read(server.url)
    assert "of context here sent an invalid object: " in str(raised.value)
    assert said in str(raised.value)
    assert raised.value.exit_code == 3


def test_half_a_character_in_a_token_or_a_name_can_be_asked_for() -> None:
    page = {"items": [], "metadata": {"continue": "\ud800"}}
    with serving(lambda asked: (200, {} if "continue" in asked.query else page, {})) as server:
        assert read(server.url) == []
        with Cluster(Connection("here", server.url, User())) as cluster:
            assert cluster.secret("\ud800", "\udcff") == page
    assert server.requests[-1].path == "/api/v1/namespaces/%3F/secrets/%3F"


def test_the_kind_of_an_object_is_the_one_that_was_asked_for() -> None:
    page = {"items": [POD | {"kind": ["Pod"], "apiVersion": 5}]}
    with serving(lambda _: (200, page, {})) as server, Cluster(Connection("here", server.url, User())) as cluster:
        (found,) = cluster.objects([Kind.POD])
    assert (found.value["kind"], found.value["apiVersion"]) == ("Pod", "v1")


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"items":' * 100_000, b'{"a": ' + b"9" * 5000 + b"}", b"[]", b"5"])
def test_an_answer_that_is_no_object_is_one_line(body: bytes) -> None:
    with (
        serving(lambda _: (200, body, {})) as server,
        pytest.raises(ClusterError, match="did not answer with a Kubernetes object"),
    ):
        read(server.url)
