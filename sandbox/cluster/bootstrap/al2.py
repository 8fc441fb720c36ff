"""Amazon Linux 2: a shell script that calls ``/etc/eks/bootstrap.sh``.

Source: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh`` and ``kubelet.service``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError
from sandbox.cluster.bootstrap.parts import read_parts

_BOOTSTRAP: Final = "/etc/eks/bootstrap.sh"
_CALL: Final = re.compile(rf"^{re.escape(_BOOTSTRAP)}(?: .*)?$", re.MULTILINE)


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: scripts, or archives with scripts. The reader runs nothing of them.

    The last line of a script that begins with the call is its call. Max pods are not in ``config`` where
    ``bootstrap.sh`` takes them from the image's table. Raises NodeStartError if there is not one call with options.
    """
    scripts = [script for each in documents for script in read_parts(each, "text/x-shellscript")]
    calls = [found[-1] for script in scripts if (found := _CALL.findall(script.replace("\\\n", " ")))]
    if len(calls) != 1:
        raise NodeStartError(f"{len(calls)} scripts in the user data call {_BOOTSTRAP}, not one.")
    try:
        _, _, *rest = shlex.split(calls[0])
        options = dict(zip(rest[::2], rest[1::2], strict=True))
        # In Environment= of a systemd unit %% is a %; systemd splits it again.
        flags = shlex.split(options.get("--kubelet-extra-args", "").replace("%%", "%"))
    except ValueError as error:
        raise NodeStartError(f"bash can't read {calls[0]!r} ({error}). The node does not join.") from error
    addresses = options.get("--dns-cluster-ip")
    return KubeletStart(tuple(flags), {"clusterDNS": addresses.split(",")} if addresses else {})
