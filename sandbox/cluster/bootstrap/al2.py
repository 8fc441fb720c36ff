"""Amazon Linux 2: a shell script that calls ``/etc/eks/bootstrap.sh``.

Source: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh`` and ``kubelet.service``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import check_certificate, is_archive, read_parts, split_flags

_BOOTSTRAP: Final = "/etc/eks/bootstrap.sh"
_OPTIONS: Final = (
    *("--apiserver-endpoint", "--b64-cluster-ca", "--dns-cluster-ip", "--kubelet-extra-args"),
    *("--ip-family", "--service-ipv6-cidr"),
)
_NO_EFFECT_HERE: Final = ("--use-max-pods",)
_CALL: Final = re.compile(rf"^(?:(?:bash|exec|source) )?{re.escape(_BOOTSTRAP)}(?: .*)?$", re.MULTILINE)
# systemd reads these in Environment='NAME=value' otherwise than they are written; %% stands for %.
_CHANGED_BY_SYSTEMD: Final = re.compile(r"['\\\n]|%(?:[^%]|$)")


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: scripts, or archives with scripts. The reader runs nothing of them.

    The last line of a script that begins with the call is its call; user data that renders otherwise is not read. Max
    pods are not in ``config`` where ``bootstrap.sh`` takes them from the image's table (``--use-max-pods true``).
    Raises NodeStartError if a node would not join, and for a call that depends on the shell's variables.
    """
    scripts = [script for each in documents for script in read_parts(_check_script(each), "text/x-shellscript")]
    calls = [found[-1] for script in scripts if (found := _CALL.findall(script.replace("\\\n", " ")))]
    if len(calls) != 1:
        raise NodeStartError(
            f"{len(calls)} scripts in the user data call {_BOOTSTRAP}, not one: the kubelet starts so many times. "
            "The node does not join."
        )
    if re.search(r"[$`]", re.sub(r"'[^']*'", "", calls[0])):
        raise NodeStartError(
            f"The arguments of {_BOOTSTRAP} depend on the shell's variables, which this reader does not know."
        )
    try:
        words = shlex.split(calls[0])
    except ValueError as error:
        raise NodeStartError(f"bash can't read {calls[0]!r} ({error}). The node does not join.") from error
    return _start(words[words.index(_BOOTSTRAP) + 1 :])


def _check_script(document: str) -> str:
    if not is_archive(document) and not document.startswith("#!"):
        raise NodeStartError(
            "The user data does not begin with #!, so cloud-init does not run it, and the node does not join."
        )
    return document


def _start(arguments: Sequence[str]) -> KubeletStart:
    options: dict[str, str] = {}
    positional: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word in (*_OPTIONS, *_NO_EFFECT_HERE):
            options[word] = next(rest, "")
        else:
            positional.append(word)
    if not positional or not positional[0] or positional[0].startswith("-"):
        raise NodeStartError(f"{_BOOTSTRAP} fails: no cluster is named. The node does not join.")
    endpoint, certificate = options.get("--apiserver-endpoint", ""), options.get("--b64-cluster-ca", "")
    if not (endpoint and certificate):
        endpoint = certificate = ""  # bootstrap.sh queries EKS for both
    config: dict[str, Any] = {}
    if addresses := options.get("--dns-cluster-ip"):
        config["clusterDNS"] = addresses.split(",")
    flags = options.get("--kubelet-extra-args", "")
    if fault := _CHANGED_BY_SYSTEMD.search(flags.replace("%%", "")):
        raise NodeStartError(
            f"systemd reads {fault.group()!r} in {flags!r} otherwise. The kubelet starts with other arguments, or with "
            "none.",
            hint="Write %% for a per cent sign.",
        )
    return KubeletStart(
        flags=split_flags(flags.replace("%%", "%")),
        config=config,
        cluster=positional[0],
        endpoint=endpoint,
        certificate_authority=check_certificate(certificate),
        ignored=tuple(positional[1:]),
    )
