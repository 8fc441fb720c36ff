"""A kubelet for one node, started with what user data says and with what this machine needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox import certificates
from sandbox.cluster.containerd import Settings
from sandbox.cluster.control_plane import ControlPlane, write_kubeconfig
from sandbox.cluster.programs import Program, Programs, free_ports
from tools import build

_MACHINE_FLAGS: Final = (
    *("--cgroup-driver", "--cloud-provider", "--container-runtime-endpoint", "--eviction-hard", "--kube-reserved"),
    *("--node-ip", "--system-reserved"),
)
"""What user data may say of these is about its own machine; others of that kind are given again after it."""


def start(
    programs: Programs,
    plane: ControlPlane,
    settings: Settings,
    *,
    flags: Sequence[str],
    config: Mapping[str, Any],
) -> Program:
    """Start a kubelet; it registers its node some seconds later.

    ``flags`` and ``config`` (fields of KubeletConfiguration, v1beta1) are what user data says, or a test.

    Raises:
        BuildError: it could not be built.
    """
    folder = settings.own / "kubelet"
    folder.mkdir(exist_ok=True)
    kubeconfig = _write_kubeconfig(folder / "kubeconfig", plane, settings.node)
    file = folder / "config.json"
    file.write_text(json.dumps({**config, **_machine_fields(plane, settings)}))
    own = [flag for flag in flags if flag.partition("=")[0] not in _MACHINE_FLAGS]
    command: list[str | Path] = [
        build.ensure("kubelet-arm64" if settings.emulated else "kubelet"),
        *own,
        f"--config={file}",
        f"--kubeconfig={kubeconfig}",
        f"--root-dir={folder / 'root'}",
        f"--cert-dir={folder / 'certificates'}",
        f"--hostname-override={settings.node}",
    ]
    return programs.start(f"kubelet-{settings.node}", command)


def _machine_fields(plane: ControlPlane, settings: Settings) -> dict[str, Any]:
    (port,) = free_ports(1)
    never = "0%"
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "port": port,
        "readOnlyPort": 0,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(plane.clients_file)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{settings.socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{settings.folder.name}/{settings.node}",
        "failCgroupV1": False,
        "failSwapOn": False,
        # Nodes share the machine: reservations are not enforced, and its full disk is no reason to evict pods.
        "enforceNodeAllocatable": [],
        "evictionHard": dict.fromkeys(("memory.available", "nodefs.available", "imagefs.available"), never),
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "podLogsDir": str(settings.own / "logs"),
        "volumePluginDir": str(settings.own / "kubelet" / "volume-plugins"),
        "resolvConf": "",
        "staticPodPath": "",
        # EKS's nodes get their certificate from the cluster; here each signs its own.
        "serverTLSBootstrap": False,
        "tlsCertFile": "",
        "tlsPrivateKeyFile": "",
    }


def _write_kubeconfig(file: Path, plane: ControlPlane, node: str) -> Path:
    """Give the node the identity that EKS's authenticator gives it: system:node:NAME of the group system:nodes."""
    if not file.is_file():
        pair = certificates.issue_client(plane.clients, f"system:node:{node}", ["system:nodes"])
        certificate, key = pair.write(file.parent, "client")
        user = {"client-certificate": str(certificate), "client-key": str(key)}
        write_kubeconfig(file, plane.kube.access, user)
    return file
