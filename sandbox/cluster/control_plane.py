"""A Kubernetes control plane of real parts on free ports of the loopback address, ready in about five seconds.

etcd, kube-apiserver, kube-controller-manager and kube-scheduler, as ``tools/kubernetes`` pins them. Nodes are what
is written to the API, or the kubelets of ``sandbox.cluster.node``.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from urllib3.exceptions import HTTPError

from sandbox import certificates
from sandbox.certificates import Pair
from sandbox.cluster import addresses
from sandbox.cluster.kube import Access, Kube, KubeError
from sandbox.cluster.programs import Program, Programs, free_ports, wait_for
from tools import build

START_SECONDS = 60.0
_NAME = "sandbox"
# Nobody renews the nodes' leases: a node is ready until it is gone.
_LASTING_NODES = "--node-monitor-grace-period=24h"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane. ``kubeconfig`` is an administrator's; ``clients`` signs certificates of API clients.

    ``clients_file`` is the certificate of ``clients``, which kubelets trust: the API server's own is signed by it.
    """

    kube: Kube
    kubeconfig: Path
    version: str
    clients: Pair
    clients_file: Path
    service_cidr: str


def start(programs: Programs, *, real_nodes: bool = False) -> ControlPlane:
    """Start it, and return when the API server is ready and the default service account is there.

    Without ``real_nodes``, nodes stay ready though no kubelet renews their leases.

    Raises:
        ClusterError: a part ended, or was not ready in time.
        BuildError: a tool could not be built.
    """
    names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    tools = {name: build.ensure(name) for name in names}
    etcd_port, peer_port, api_port, controllers_port, scheduler_port = free_ports(5)
    services = addresses.of_services(programs.folder)
    token, clients = secrets.token_hex(16), certificates.authority("clients")
    keys = _write_keys(programs.folder / "keys", token, clients)
    etcd = programs.start("etcd", _etcd(tools["etcd"], programs.folder / "etcd", etcd_port, peer_port))
    api = programs.start("kube-apiserver", _api_server(tools["kube-apiserver"], keys, etcd_port, api_port, services))
    kube = Kube(Access(f"https://127.0.0.1:{api_port}", keys / "apiserver.crt", token))
    wait_for(lambda: _ready(kube, (etcd, api)), "the API server", timeout=START_SECONDS)
    kubeconfig = write_kubeconfig(keys / "kubeconfig", kube.access)
    command = _controllers(tools["kube-controller-manager"], keys, kubeconfig, controllers_port)
    controllers = programs.start("kube-controller-manager", command + ([] if real_nodes else [_LASTING_NODES]))
    scheduler = programs.start(
        "kube-scheduler", [tools["kube-scheduler"], *_component(keys, kubeconfig, scheduler_port)]
    )

    def account() -> bool:
        controllers.still_running()
        scheduler.still_running()
        return kube.get("v1", "ServiceAccount", "default", "default") is not None

    wait_for(account, "the default service account", timeout=START_SECONDS)
    version = str(kube.request("GET", "/version")["gitVersion"])
    return ControlPlane(kube, kubeconfig, version, clients, keys / "clients.crt", services)


def _ready(kube: Kube, parts: tuple[Program, ...]) -> bool:
    for part in parts:
        part.still_running()
    if not kube.access.certificate.is_file():
        return False
    try:
        return bool(kube.request("GET", "/readyz")["text"] == "ok")
    except (HTTPError, KubeError, OSError):
        return False


def _write_keys(folder: Path, token: str, clients: Pair) -> Path:
    folder.mkdir(mode=0o700)
    clients.write(folder, "clients")
    certificates.issue_client(clients, "apiserver", ["system:masters"]).write(folder, "apiserver-kubelet-client")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    (folder / "accounts.key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (folder / "accounts.pub").write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    (folder / "tokens.csv").write_text(f'{token},administrator,administrator,"system:masters"\n')
    return folder


def write_kubeconfig(file: Path, access: Access, user: Mapping[str, str] | None = None) -> Path:
    """Write what leads a program to the API server, and return the file. ``user`` replaces the token of ``access``."""
    cluster = {"server": access.url, "certificate-authority": str(access.certificate)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user or {"token": access.token}}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
        "current-context": _NAME,
    }
    file.write_text(json.dumps(config))  # JSON is YAML
    file.chmod(0o600)
    return file


def read_kubeconfig(file: Path) -> Access:
    """Return the access of a kubeconfig that :func:`write_kubeconfig` wrote with a token."""
    config = json.loads(file.read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    return Access(cluster["server"], Path(cluster["certificate-authority"]), user["token"])


def _etcd(tool: Path, data: Path, port: int, peer_port: int) -> list[str | Path]:
    clients = f"http://127.0.0.1:{port}"
    return [
        tool,
        f"--data-dir={data}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _api_server(tool: Path, keys: Path, etcd_port: int, port: int, services: str) -> list[str | Path]:
    return [
        tool,
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        f"--cert-dir={keys}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={services}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys / 'accounts.pub'}",
        f"--service-account-signing-key-file={keys / 'accounts.key'}",
        f"--token-auth-file={keys / 'tokens.csv'}",
        f"--client-ca-file={keys / 'clients.crt'}",
        f"--kubelet-client-certificate={keys / 'apiserver-kubelet-client.crt'}",
        f"--kubelet-client-key={keys / 'apiserver-kubelet-client.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        # As on EKS: a kubelet changes its own Node only, and sets no label of kubernetes.io that is not a kubelet's.
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        "--enable-aggregator-routing=true",
        "--profiling=false",
    ]


def _component(keys: Path, kubeconfig: Path, port: int) -> list[str | Path]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={keys}",
        # By default they query the API server 20 and 50 times a second, which is for clusters with many of them.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def _controllers(tool: Path, keys: Path, kubeconfig: Path, port: int) -> list[str | Path]:
    return [
        tool,
        *_component(keys, kubeconfig, port),
        f"--service-account-private-key-file={keys / 'accounts.key'}",
        f"--root-ca-file={keys / 'apiserver.crt'}",
    ]
