"""Generated kubeconfigs, credentials and API answers: whatever they hold, one error says so, without a secret."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multiarch.audit.daemonset_groups import live_groups
from multiarch.audit.daemonset_sources import image_uses
from multiarch.audit.subjects import gather
from multiarch.errors import MultiarchError
from multiarch.kubernetes import transport as transport_module
from multiarch.kubernetes.cluster import Cluster
from multiarch.kubernetes.exec_plugin import ExecPlugin, _credential, plugin_from
from multiarch.kubernetes.kubeconfig import Connection, User, connection
from multiarch.kubernetes.resources import Kind
from multiarch.kubernetes.transport import StatusError, Transport
from multiarch.observed.cluster import read_cluster_state, read_running
from multiarch.observed.pull_secrets import read_pull_secrets
from multiarch.observed.workloads import uses_in
from multiarch.verify.pods.containers import PodReader

HIDDEN = "never-shown-7d1f"
V1 = "client.authentication.k8s.io/v1"
BOUNDED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", "\0", "\n", "\ud800", "~nobody-here/x", "https://[::1", "a" * 300, "\nx", "0x1", "-0"]),
    st.lists(st.integers() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=3) | st.none(), max_size=3),
)


@contextlib.contextmanager
def refused_or_fine() -> Iterator[None]:
    """Nothing but this project's own errors, which do not show what is secret."""
    said = ""
    try:
        yield
    except (MultiarchError, StatusError) as error:
        said = str(error)
    assert HIDDEN not in said


def mutated(sample: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 # any JSON
    """``sample`` with a few of its values replaced, removed or moved elsewhere."""
    paths = list(_paths(sample))

    @st.composite
    def strategy(draw: Callable[..., Any]) -> Any:  # noqa: ANN401 # any JSON
        made = json.loads(json.dumps(sample))
        for path in draw(st.lists(st.sampled_from(paths), min_size=1, max_size=3, unique=True)):
            with contextlib.suppress(KeyError, IndexError, TypeError):
                here = made
                for key in path[:-1]:
                    here = here[key]
                if draw(st.booleans()):
                    here[path[-1]] = draw(odd)
                else:
                    del here[path[-1]]
        return made

    return strategy()


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 # any JSON
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from _paths(inner, (*path, key))


KUBECONFIG = {
    "current-context": "a",
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a", "namespace": "x"}}],
    "clusters": [
        {
            "name": "a",
            "cluster": {
                "server": "https://127.0.0.1:1",
                "certificate-authority": "ca.crt",
                "certificate-authority-data": "aGk=",
                "tls-server-name": "x",
                "insecure-skip-tls-verify": True,
                "proxy-url": "http://127.0.0.1:1",
                "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"a": 1}}],
            },
        }
    ],
    "users": [
        {
            "name": "a",
            "user": {
                "token": HIDDEN,
                "tokenFile": "token",
                "username": "me",
                "password": HIDDEN,
                "client-certificate-data": "aGk=",
                "client-key-data": "aGk=",
                "exec": {
                    "apiVersion": V1,
                    "command": "/bin/false",
                    "args": ["a"],
                    "env": [{"name": "A", "value": HIDDEN}],
                    "provideClusterInfo": True,
                    "installHint": "x",
                    "interactiveMode": "Never",
                },
            },
        }
    ],
}


@BOUNDED
@given(mutated(KUBECONFIG))
def test_any_kubeconfig_is_taken_or_one_error_says_why_not(config: Any) -> None:  # noqa: ANN401 # any JSON
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport_module, "ATTEMPTS", 1)
        file = Path(folder, "config")
        file.write_text(json.dumps(config))
        with refused_or_fine():
            Transport(connection(kubeconfig=file), agent="test", first_wait=0).get("/")


@BOUNDED
@given(mutated(KUBECONFIG["users"][0]["user"]["exec"]), mutated(KUBECONFIG["clusters"][0]["cluster"]))  # type: ignore[index]
def test_any_plugin_is_run_or_one_error_says_why_not(written: Any, cluster: Any) -> None:  # noqa: ANN401 # any JSON
    with refused_or_fine():
        plugin = plugin_from(written, cluster, user="a", file=Path("config"))
        Transport(Connection("a", "https://127.0.0.1:1", User("a", plugin=plugin)), agent="test").get("/")


CREDENTIAL = {
    "apiVersion": V1,
    "kind": "ExecCredential",
    "status": {
        "token": HIDDEN,
        "clientCertificateData": HIDDEN,
        "clientKeyData": HIDDEN,
        "expirationTimestamp": "2030-01-01T00:00:00Z",
    },
}


@BOUNDED
@given(mutated(CREDENTIAL) | odd)
def test_any_credential_is_taken_or_one_error_says_why_not(answer: Any) -> None:  # noqa: ANN401 # any JSON
    plugin = ExecPlugin("a", Path("config"), V1, "x")
    with refused_or_fine():
        assert isinstance(_credential(json.dumps(answer).encode(errors="replace"), plugin).expired, bool)


TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "serviceAccountName": "x",
        "nodeSelector": {"a": "b"},
        "nodeName": "n",
        "imagePullSecrets": [{"name": "x"}],
        "priority": 5,
        "containers": [
            {
                "name": "a",
                "image": "b:1",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": 1}},
            }
        ],
        "initContainers": [{"name": "i", "image": "c", "restartPolicy": "Always"}],
        "ephemeralContainers": [{"name": "e", "image": "c"}],
        "overhead": {"cpu": "1m"},
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "value": "", "tolerationSeconds": 5}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "z",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {}},
            }
        ],
        "volumes": [{"name": "v", "image": {"reference": "x"}, "persistentVolumeClaim": {"claimName": "y"}}],
        "schedulingGates": [{"name": "x"}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}
                ],
            },
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "h", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
                ]
            },
        },
    },
}
METADATA = {
    "name": "a",
    "namespace": "x",
    "uid": "1",
    "labels": {"a": "b", "topology.kubernetes.io/zone": "z"},
    "annotations": {"a": "b"},
    "managedFields": [{}],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ReplicaSet", "name": "r", "controller": True}],
}
OBJECT = {
    "metadata": METADATA,
    "imagePullSecrets": [{"name": "x"}],
    "status": {
        "phase": "Pending",
        "images": [{"names": ["a"]}],
        "allocatable": {"cpu": "1"},
        "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"},
        "containerStatuses": [
            {"name": "a", "image": "b", "imageID": f"c@sha256:{'d' * 64}", "state": {"waiting": {"reason": "e"}}}
        ],
    },
    "spec": {
        **TEMPLATE["spec"],
        "replicas": 1,
        "parallelism": 1,
        "completions": 2,
        "suspend": False,
        "ordinals": {"start": 1},
        "volumeClaimTemplates": [{"metadata": {"name": "x"}}],
        "taints": [{"key": "a", "effect": "NoSchedule"}],
        "template": TEMPLATE,
        "jobTemplate": {"spec": {"template": TEMPLATE}},
    },
}
PAGE = {"kind": "List", "metadata": {"continue": "", "resourceVersion": "1"}, "items": [OBJECT, OBJECT]}


def cluster_of(page: object, patch: pytest.MonkeyPatch) -> Cluster:
    """A cluster whose API server answers everything with ``page``."""
    body = json.dumps(page)
    patch.setattr(Transport, "get", lambda self, *_: self._decoded(body.encode(errors="replace")))
    return Cluster(Connection("here", "http://127.0.0.1:1", User()))


def _pods_and_nodes(cluster: Cluster) -> object:
    reader = PodReader()
    reader.read(cluster.objects([Kind.POD, Kind.NODE, Kind.REPLICA_SET]))
    return reader.result()


READERS: tuple[Callable[[Cluster], object], ...] = (
    lambda cluster: uses_in(cluster.objects((Kind.DEPLOYMENT, Kind.POD))),
    lambda cluster: gather(cluster.objects((Kind.CRON_JOB, Kind.POD)), None),
    lambda cluster: live_groups(cluster.objects([Kind.NODE]), {"a"}),
    lambda cluster: image_uses(cluster.objects([Kind.DAEMON_SET])),
    lambda cluster: read_pull_secrets(cluster, uses_in(cluster.objects([Kind.POD]))),
    _pods_and_nodes,
    lambda cluster: read_cluster_state(read_running(cluster, budgets=True), (), ()),
    lambda cluster: list(cluster.objects([Kind.SERVICE_ACCOUNT, Kind.NAMESPACE])),
)


@BOUNDED
@given(mutated(PAGE) | odd)
def test_any_answer_of_an_api_server_is_read_or_one_error_says_why_not(page: Any) -> None:  # noqa: ANN401 # any JSON
    with pytest.MonkeyPatch.context() as patch:
        for read in READERS:
            with refused_or_fine():
                read(cluster_of(page, patch))


def test_the_samples_themselves_are_read() -> None:
    with pytest.MonkeyPatch.context() as patch:
        cluster = cluster_of(PAGE, patch)
        for read in READERS:
            read(cluster)
