"""``multiarch verify pods`` on what kubectl prints, against a real registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.aws.ssm_commands import Target
from tests.cli.running import type_of_run
from tests.images.conftest import images_registry, repository
from tests.images.shapes import Repository
from tests.kubernetes import kubeconfigs
from tests.kubernetes.api_server import Answer, Request, rejected, serving
from tests.ssm.wired import Wired
from tests.verify.on_node.reports import AMD64, ARM64, report
from tests.verify.pods.made import crashing, ended, node, pod, status

__all__ = ["images_registry", "repository"]


@pytest.fixture
def name(repository: Repository) -> str:
    return f"{repository.server.host}/{repository.name}"


@pytest.fixture
def objects(repository: Repository, name: str) -> list[dict[str, Any]]:
    """A proven, a consistent and a wrong container, and one that can't be told."""
    arm = repository.image("linux/arm64", tag="arm")
    both = repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    amd = repository.image("linux/amd64", tag="amd")
    return [
        node("arm"),
        pod(status("app", f"{name}:arm", f"{name}@{arm.digest}", 1), name="proven"),
        pod(status("app", f"{name}:both", f"{name}@{both.digest}", 2), name="consistent"),
        pod(status("app", f"{name}:amd", f"{name}@{amd.digest}", 3, **crashing()), name="wrong"),
        pod(status("app", f"{name}:gone", f"{name}@sha256:{'0' * 64}", 4), name="unknown"),
    ]


def written(folder: Path, objects: list[dict[str, Any]]) -> str:
    file = folder / "pods.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(file)


def test_the_table_has_the_worst_first_and_stderr_the_sum(
    run: type_of_run, tmp_path: Path, objects: list[dict[str, Any]]
) -> None:
    ran = run("verify", "pods", written(tmp_path, objects))
    assert ran.code == 1
    rows = [line.split() for line in ran.out.splitlines() if line.lstrip().startswith("Pod/")]
    assert [row[:6] for row in rows] == [
        ["Pod/wrong", "shop", "app", "1", "on", "arm64"],
        ["Pod/unknown", "shop", "app", "1", "on", "arm64"],
        ["Pod/consistent", "shop", "app", "1", "on", "arm64"],
        ["Pod/proven", "shop", "app", "1", "on", "arm64"],
    ]
    assert [" ".join(row[6:8]).partition(" 127.")[0] for row in rows] == [
        "wrong",
        "cannot tell",
        "consistent",
        "proven",
    ]
    assert "or it was imported → --on-node" in ran.out
    assert "its config is linux/amd64, and the node is arm64; it fails with exec format error → build its" in ran.out
    assert ran.err == "4 containers: 1 wrong, 1 cannot tell, 1 consistent, 1 proven.\n"


def test_pods_of_a_workload_that_are_alike_are_one_row(
    run: type_of_run, tmp_path: Path, objects: list[dict[str, Any]]
) -> None:
    alike = [
        {**objects[2], "metadata": {**objects[2]["metadata"], "name": f"api-{at}", "ownerReferences": owner}}
        for at in range(3)
        for owner in ([{"kind": "StatefulSet", "name": "api", "controller": True}],)
    ]
    ran = run("verify", "pods", written(tmp_path, [objects[0], *alike]))
    assert ran.code == 0
    (row,) = [line.split() for line in ran.out.splitlines() if "StatefulSet/api" in line]
    assert row[:7] == ["StatefulSet/api", "shop", "app", "3", "on", "arm64", "consistent"]
    assert "index has linux/arm64\n" in ran.out


def test_json_has_every_container(run: type_of_run, tmp_path: Path, objects: list[dict[str, Any]], name: str) -> None:
    found = run("verify", "pods", written(tmp_path, objects), "--output", "json").json
    assert (found["version"], found["kind"]) == ("2", "pod-verification")
    assert found["summary"] == {"wrong": 1, "cannot tell": 1, "consistent": 1, "proven": 1}
    assert (found["nodesAnswered"], found["notStarted"], found["notes"]) == (None, 0, [])
    assert [each["verdict"] for each in found["workloads"]] == ["wrong", "cannot tell", "consistent", "proven"]
    wrong, unknown = (found["workloads"][at]["containers"][0] for at in (0, 1))
    assert wrong == {
        "pod": "wrong",
        "name": "app",
        "role": "container",
        "state": "CrashLoopBackOff",
        "node": {"name": "arm", "architecture": "arm64", "runtime": ""},
        "image": f"{name}:amd",
        "imageId": wrong["imageId"],
        "digestKind": "platform manifest",
        "manifest": wrong["imageId"].partition("@")[2],
        "process": "",
        "machine": "",
        "emulator": "",
        "verdict": "wrong",
        "reason": "its config is linux/amd64, and the node is arm64; it fails with exec format error",
        "settledBy": "",
    }
    assert unknown["settledBy"] == "--on-node"


@pytest.mark.parametrize(
    ("omitted", "fail_on", "code"),
    [
        (("wrong",), "wrong", 0),
        (("wrong",), "cannot-tell", 1),
    ],
)
def test_the_exit_code_counts_what_is_wrong_and_with_fail_on_what_is_not_known(
    run: type_of_run, tmp_path: Path, objects: list[dict[str, Any]], omitted: tuple[str, ...], fail_on: str, code: int
) -> None:
    kept = [each for each in objects if each["metadata"]["name"] not in omitted]
    assert run("verify", "pods", written(tmp_path, kept), "--fail-on", fail_on).code == code


@pytest.fixture
def ssm(monkeypatch: pytest.MonkeyPatch) -> Wired:
    """The stand-in for SSM, with an arm64 node that answers and one that does not."""
    wired = Wired()
    monkeypatch.setattr("multiarch.cli.options.aws.open_clients", lambda *_, **__: lambda _: wired.client)
    return wired


def on_nodes(repository: Repository, name: str, *arguments: Any, **made: Any) -> list[dict[str, Any]]:
    """Two pods of the same index on two arm64 nodes."""
    both = repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    image, image_id = f"{name}:both", f"{name}@{both.digest}"
    return [
        node("one", provider=f"aws:///eu-west-1a/i-{0:017x}"),
        node("two", provider=f"aws:///eu-west-1a/i-{1:017x}"),
        pod(status("app", image, image_id, 1, *arguments, **made), status("liar", image, image_id, 2), node="one"),
        pod(status("app", image, image_id, 3), name="api-2", node="two"),
    ]


def test_the_nodes_settle_what_is_only_consistent(
    run: type_of_run, tmp_path: Path, repository: Repository, name: str, ssm: Wired
) -> None:
    file = written(tmp_path, on_nodes(repository, name))
    assert run("verify", "pods", file).code == 0
    rows = [
        ("container", f"{1:064x}", "x", "", "", "71", "/app", ARM64, "", ""),
        ("container", f"{2:064x}", "x", "", "", "72", "/liar", AMD64, "qemu-x86_64", ""),
    ]
    ssm.register(1, Target(output=report(*rows)))
    ssm.register(1, Target(status="ConnectionLost"))
    ran = run("verify", "pods", file, "--on-node", "--output", "json")
    assert ran.code == 1
    found = {each["pod"] + " " + each["name"]: each for row in ran.json["workloads"] for each in row["containers"]}
    assert {key: each["verdict"] for key, each in found.items()} == {
        "api-1 app": "proven",
        "api-1 liar": "wrong",
        "api-2 app": "consistent",
    }
    assert found["api-1 liar"]["reason"] == (
        "its process /liar is amd64, run by qemu-x86_64, though the image declares linux/arm64"
    )
    assert (found["api-1 app"]["process"], found["api-1 app"]["machine"]) == ("/app", "arm64")
    assert found["api-2 app"]["reason"] == "index has linux/arm64; its node did not answer (offline)"
    assert found["api-2 app"]["settledBy"]
    assert ran.json["nodesAnswered"] == 1
    assert [each.partition("(")[0] for each in ran.json["notes"]] == ["Not queried through SSM: two "]


_FORBIDDEN = rejected(403, "Forbidden", 'User "eve" may not')


@pytest.mark.parametrize(
    ("policy", "log", "verdict", "words"),
    [
        ("File", (200, b"exec /app: exec format error\n", {}), "cannot tell", ("it fails with exec format error", "")),
        ("FallbackToLogsOnError", _FORBIDDEN, "cannot tell", ("it fails with exec format error", "")),
        ("File", (200, b"password \xff is wrong\n", {}), "consistent", ("and its log does not say exec format", "")),
        ("File", _FORBIDDEN, "cannot tell", ("and its log was not read", 'resources: ["pods/log"], verbs: ["get"]}')),
        ("File", rejected(500, "InternalError", "dial tcp"), "cannot tell", ("its log was not read", "dial tcp")),
        ("File", rejected(400, "BadRequest", "not found"), "cannot tell", ("its log was not read", "")),
    ],
)
def test_the_log_says_why_a_container_crash_loops(
    run: type_of_run,
    tmp_path: Path,
    repository: Repository,
    name: str,
    policy: str,
    log: Answer,
    verdict: str,
    words: tuple[str, str],
) -> None:
    both = repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    loops = crashing("" if policy == "File" else "exec /app: exec format error\n")
    made = [
        pod(status("app", f"{name}:both", f"{name}@{both.digest}", **loops), name="loops"),
        pod(status("app", f"{name}:both", f"{name}@{both.digest}", **ended(1)), name="ended", phase="Failed"),
        pod(status("app", f"{name}:both", f"{name}@{both.digest}", **ended(0)), name="done", phase="Succeeded"),
    ]
    lists = {"pods": made, "nodes": [node("arm")]}

    def answer(request: Request) -> Answer:
        plural = request.path.rpartition("/")[2]
        if plural == "log":
            assert (request.query["previous"], request.query["container"]) == ("false", "app")
            return log
        return 200, {"kind": "List", "metadata": {}, "items": lists.get(plural, [])}, {}

    with serving(answer) as server:
        ran = run(
            "verify", "pods", "--kubeconfig", str(kubeconfigs.write(tmp_path / "kubeconfig", server.url)), "-o", "json"
        )
    found = {each["pod"]: each for row in ran.json["workloads"] for each in row["containers"]}
    assert set(found) == {"loops", "ended"} if log[0] == 200 and verdict == "cannot tell" else {"loops"}
    assert found["loops"]["verdict"] == verdict
    reason, note = words
    assert reason in found["loops"]["reason"]
    assert note in ran.err
    assert "password" not in ran.out + ran.err
    requested = sum(each.path.endswith("/log") for each in server.requests)
    assert requested == {"File": 2, "FallbackToLogsOnError": 1}[policy] - (note != "")


def test_a_live_cluster_is_read_with_the_owners_of_pods_owners(
    run: type_of_run, tmp_path: Path, objects: list[dict[str, Any]]
) -> None:
    seen = []
    owner = {"kind": "Deployment", "name": "api", "controller": True}
    replica_set = {"metadata": {"name": "api-5d4f", "namespace": "shop", "uid": "r", "ownerReferences": [owner]}}
    own = {"kind": "ReplicaSet", "name": "api-5d4f", "controller": True}
    made = {**objects[2], "metadata": {**objects[2]["metadata"], "ownerReferences": [own]}}
    lists = {"pods": [made], "nodes": [objects[0]], "replicasets": [replica_set]}
    forbidden: set[str] = set()

    def answer(request: Request) -> Answer:
        plural = request.path.rpartition("/")[2]
        seen.append((plural, request.query.get("labelSelector", "")))
        if plural in forbidden:
            return rejected(403, "Forbidden", "no")
        return 200, {"kind": "List", "metadata": {}, "items": lists.get(plural, [])}, {}

    with serving(answer) as server:
        file = kubeconfigs.write(tmp_path / "kubeconfig", server.url)
        arguments = ("verify", "pods", "--kubeconfig", str(file), "-l", "app=api", "-o", "json")
        ran = run(*arguments)
        assert (ran.code, [row["name"] for row in ran.json["workloads"]]) == (0, ["api"]), ran.err
        assert ("pods", "app=api") in seen
        assert {("nodes", ""), ("replicasets", "")} <= set(seen)
        assert "jobs" not in dict(seen)
        forbidden.add("replicasets")
        ran = run(*arguments)
    assert [row["name"] for row in ran.json["workloads"]] == ["api-5d4f"]
    assert "replicasets" in ran.err
