"""Why an instance did not become a Node, by the lines that it left behind.

The lines are those of the boot log, which the node itself gives, or of EC2's console output. The cause that comes first
in a boot counts: without a way to the endpoint bootstrap.sh fails too.
Sources: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh`` (its ``err_report``) and ``nodeadm``; AWS re:Post, "How
can I get my worker nodes to join my Amazon EKS cluster?"; the kernel's ``init/main.c`` and ``kernel/panic.c``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from multiarch.observed.resources.secrets import mask_secrets
from multiarch.verify.nodes.model import BootFault

_LAST_LINES = 8
_SHOWN = 3
"""Lines of a cause that are shown."""
_LONGEST = 200
"""Characters of a line that are shown."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_IMAGE_HINT = "Give the group an AMI of its architecture: omit ami.id, or correct it, and replace the node."
_NETWORK = re.compile(
    r"i/o timeout|context deadline exceeded|[Cc]onnection timed out|[Cc]onnect timeout|[Nn]o route to host"
    r"|[Nn]etwork is unreachable|[Cc]ould not connect to the endpoint URL|no such host|[Cc]ould not resolve host"
    r"|Temporary failure in name resolution|[Cc]onnection refused|TLS handshake timeout"
    r"|RequestError: send request failed"
)
_SERVICES = (
    ("the cluster's endpoint", re.compile(r"\.eks\.amazonaws\.com|[a-z]+:6443|/api/v1/nodes", re.ASCII)),
    ("STS", re.compile(r"\bsts\.")),
    ("ECR", re.compile(r"\.dkr\.ecr\.|\bapi\.ecr\.|public\.ecr\.aws")),
    ("EC2's API", re.compile(r"\bec2\.[a-z0-9-]+\.amazonaws\.com")),
    ("EKS's API", re.compile(r"\beks\.[a-z0-9-]+\.amazonaws\.com|\beks\.[a-z0-9-]+\.api\.aws")),
)


class _Cause(NamedTuple):
    """``pattern`` finds its lines; ``text`` is the clause, of which the network's names the services in these lines."""

    pattern: re.Pattern[str]
    text: str
    hint: str


_CAUSES = (
    _Cause(
        re.compile(r"[Ee]xec format error|cannot execute binary file"),
        "programs of another architecture: exec format error",
        _IMAGE_HINT,
    ),
    _Cause(
        re.compile(r"Kernel panic - not syncing|VFS: Unable to mount root fs"),
        "the kernel stopped",
        "Check that the AMI boots on this instance type, and replace the node.",
    ),
    _Cause(
        re.compile(
            r"\bUnauthorized\b|\"?code\"?:\s?401|system:anonymous|is not authorized to perform: eks:|AccessDenied"
        ),
        "its role may not join: the API server or AWS rejects it",
        "Give the node's role an access entry of type EC2_LINUX, or run `pulumi up`; `aws eks list-access-entries` "
        "shows those that exist, the ConfigMap aws-auth those of older clusters.",
    ),
    _Cause(
        _NETWORK,
        "no route to {}",
        "Check the subnet's route table, NAT or VPC endpoints, the security groups and DNS.",
    ),
    _Cause(
        re.compile(
            r"Exited with error on line \d+|bootstrap\.sh.*(?:error|fail|command not found)"
            r"|\"level\":\"fatal\"|nodeadm.*(?:[Ee]rror|[Ff]ailed|fatal)|Failed to run module scripts-user"
            r"|Failed to start nodeadm|cloud-init.*ERROR",
            re.IGNORECASE,
        ),
        "its bootstrap failed",
        "Correct the user data: preBootstrap or kubeletExtraArgs in the stack, or the AMI's own bootstrap.",
    ),
)


def find_boot_fault(text: str, *, source: str) -> BootFault:
    """Find the cause in a log, or else its last lines. ``source`` is where it was read: ``its boot log``."""
    lines = [_plain(line) for line in mask_secrets(text, "[masked]", console=True).splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        return BootFault(
            f"{source} is empty",
            "An image of another architecture than the instance type leaves no output: compare the two, "
            "and see `aws ec2 get-console-screenshot`.",
        )
    for cause in _CAUSES:
        found = [line for line in lines if cause.pattern.search(line)]
        if found:
            named = [name for name, form in _SERVICES if any(form.search(line) for line in found)]
            said = cause.text.format(", ".join(named) or "an endpoint that it needs")
            return BootFault(f"{said}, says {source}", cause.hint, tuple(dict.fromkeys(found))[:_SHOWN])
    return BootFault(
        f"{source} names no known cause; its last lines are below",
        "Read the whole log: `aws ec2 get-console-output --latest`, or Session Manager.",
        tuple(lines[-_LAST_LINES:]),
    )


def _plain(line: str) -> str:
    text = " ".join(_COLOURS.sub("", line).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
