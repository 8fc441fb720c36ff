"""Amazon Linux 2: a shell script that calls ``/etc/eks/bootstrap.sh``.

Source: amazon-eks-ami, ``templates/al2/runtime/bootstrap.sh`` and ``kubelet.service``.
"""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.cluster.bootstrap.archive import SHELL_SCRIPT, is_archive, parts
from sandbox.cluster.bootstrap.model import KubeletStart, NodeStartError, checked_certificate
from sandbox.cluster.bootstrap.systemd import words_of_environment

_BOOTSTRAP = "/etc/eks/bootstrap.sh"
_OPTIONS = frozenset(
    (
        "--apiserver-endpoint",
        "--aws-api-retry-attempts",
        "--b64-cluster-ca",
        "--cluster-id",
        "--container-runtime",
        "--containerd-config-file",
        "--dns-cluster-ip",
        "--docker-config-json",
        "--enable-docker-bridge",
        "--enable-local-outpost",
        "--ip-family",
        "--kubelet-extra-args",
        "--local-disks",
        "--mount-bpf-fs",
        "--pause-container-account",
        "--pause-container-version",
        "--service-ipv6-cidr",
        "--use-max-pods",
    )
)
"""The options of ``bootstrap.sh``. Each takes its value as the next argument; ``--option=value`` is unknown to it."""
_BEFORE = frozenset((".", "bash", "exec", "source", "sudo", "sh"))
_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_OPERATOR = re.compile(r"[;&|()<>]+")
_HERE_DOCUMENT = re.compile(r"(?<!<)<<(?!<)(?P<indented>-?)\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)")


def read(documents: Sequence[str]) -> KubeletStart:
    """Read user data: scripts, or archives with scripts. The reader runs nothing of them.

    Max pods are not in ``config`` where ``bootstrap.sh`` takes them from the image's table (``--use-max-pods true``).
    Raises NodeStartError if a node would not join, and for a call that depends on the shell's variables.
    """
    calls = [call for document in documents for script in _scripts(document) for call in _calls(script)]
    if not calls:
        raise NodeStartError(
            f"No script in the user data calls {_BOOTSTRAP}: no kubelet starts, and the node does not join."
        )
    if len(calls) > 1:
        raise NodeStartError(
            f"The user data calls {_BOOTSTRAP} {len(calls)} times: the kubelet starts more than once, with different "
            "arguments."
        )
    return _started(calls[0])


def _scripts(document: str) -> list[str]:
    if is_archive(document):
        return parts(document, SHELL_SCRIPT)
    if not document.startswith("#!"):
        raise NodeStartError(
            "The user data does not begin with #!, so cloud-init does not run it, and the node does not join."
        )
    return [document]


def _calls(script: str) -> Iterator[list[str]]:
    """The arguments of each call of ``bootstrap.sh`` in a script, outside of comments and here-documents."""
    lines = iter(script.split("\n"))
    for first in lines:
        line = _joined(first, lines)
        if _BOOTSTRAP in line:
            yield from _calls_in(line)
        for found in _HERE_DOCUMENT.finditer(line):
            for inner in lines:
                # Quotes around the delimiter let backslashes be text.
                text = inner if found["quote"] else _joined(inner, lines)
                if (text.lstrip("\t") if found["indented"] else text) == found["end"]:
                    break


def _joined(line: str, following: Iterator[str]) -> str:
    """A line with those that a backslash at its end joins to it."""
    while _CONTINUED.search(line):
        line = line[:-1] + next(following, "")
    return line


def _calls_in(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise NodeStartError(f"bash can't read {line!r} ({error}). The node does not join.") from error
    command: list[str] = []
    for word in [*words, ";"]:
        if word[0:1] in ("<", ">") and command and command[-1].isdigit():
            command.pop()  # the 2 of 2>&1
        if not _OPERATOR.fullmatch(word) and not word.startswith("#"):
            command.append(word)
            continue
        if _BOOTSTRAP in command and all(map(_may_precede, command[: command.index(_BOOTSTRAP)])):
            if re.search(r"[$`]", re.sub(r"'[^']*'", "", line)):
                raise NodeStartError(
                    f"The arguments of {_BOOTSTRAP} depend on the shell's variables, which this reader does not know."
                )
            yield command[command.index(_BOOTSTRAP) + 1 :]
        command = []
        if word.startswith("#"):
            return


def _may_precede(word: str) -> bool:
    return word in _BEFORE or word.startswith("-") or _ASSIGNMENT.fullmatch(word) is not None


def _started(arguments: Sequence[str]) -> KubeletStart:
    options: dict[str, str] = {}
    positional: list[str] = []
    rest = deque(arguments)
    while rest:
        word = rest.popleft()
        if word in ("-h", "--help"):
            raise NodeStartError(f"{_BOOTSTRAP} {word} prints its help and fails. The node does not join.")
        if word not in _OPTIONS:
            positional.append(word)
        elif not rest:
            raise NodeStartError(f"{_BOOTSTRAP} fails: {word} has no value. The node does not join.")
        else:
            options[word] = rest.popleft()
    if not positional or not positional[0]:
        raise NodeStartError(f"{_BOOTSTRAP} fails: no cluster is named. The node does not join.")
    endpoint, certificate = options.get("--apiserver-endpoint", ""), options.get("--b64-cluster-ca", "")
    if not (endpoint and certificate):
        endpoint = certificate = ""  # bootstrap.sh asks EKS for both
    config: dict[str, Any] = {}
    if addresses := options.get("--dns-cluster-ip"):
        config["clusterDNS"] = addresses.split(",")
    return KubeletStart(
        flags=words_of_environment(options.get("--kubelet-extra-args", "")),
        config=config,
        cluster=positional[0],
        endpoint=endpoint,
        certificate_authority=checked_certificate(certificate, _BOOTSTRAP),
        ignored=tuple(positional[1:]),
    )
