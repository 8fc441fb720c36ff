"""Run commands as if on one of the cluster's nodes: nodes share this machine, its processes and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sandbox.cluster.node import Node
from tools import build

__all__ = ["command_prefix"]

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_AS_HOST: Final = 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"'
# What programs of the node's architecture are told; those of this machine's shell are not of it.
_UNAME: Final = """\
#!/bin/sh
[ "$*" = -m ] || exec /bin/uname "$@"
{machine} once | sed 's/.*machine //'
"""


def command_prefix(node: Node) -> tuple[str, ...]:
    """The words before a command that is to run on a node: with its host name, its ``ctr`` and its ``uname -m``.

    Its kubelet is the one with this host name; its containerd the one that this kubelet uses. Needs root.
    """
    folders = [build.ensure("ctr").parent]
    if node.settings.emulated:
        folders.insert(0, _write_uname(node.settings.own / "bin"))
    path = ":".join([*map(str, folders), _PATH])
    return ("env", f"PATH={path}", "unshare", "--uts", "sh", "-c", _AS_HOST, node.name)


def _write_uname(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "uname"
    file.write_text(_UNAME.format(machine=build.ensure("machine-arm64")))
    file.chmod(0o755)
    return folder
