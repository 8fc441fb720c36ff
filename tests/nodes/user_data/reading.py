"""Reads user data the way a node does: with an email parser, TOML's, bash, nodeadm's types and the kubelet's parser."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from email import message_from_string
from email.message import Message
from pathlib import Path
from typing import Any

from tools import build

BOOTSTRAP = "/etc/eks/bootstrap.sh"
SCRIPT = "text/x-shellscript"
NODE_CONFIG = "application/node.eks.aws"


@dataclass(frozen=True, slots=True)
class Node:
    """What a kubelet with certain flags registers."""

    labels: dict[str, str]
    taints: list[dict[str, str]]


def mime_parts(user_data: str) -> list[tuple[str, str]]:
    """Content type and text of every part, decoded as cloud-init does it: from a string, not from bytes."""
    message = message_from_string(user_data)
    assert not message.defects
    assert message.get_content_type() == "multipart/mixed"
    parts: list[tuple[str, str]] = []
    for part in message.get_payload():
        assert isinstance(part, Message)
        assert not part.defects
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        parts.append((part.get_content_type(), payload.decode()))
    return parts


def part(user_data: str, content_type: str) -> str:
    """The one part of this type."""
    (found,) = [text for kind, text in mime_parts(user_data) if kind == content_type]
    return found


def node_config(document: str, *, partial: bool = False) -> Any:  # noqa: ANN401  (JSON)
    """Decode a NodeConfig strictly with nodeadm's own types; raises CalledProcessError when they reject it."""
    command = [str(build.ensure("nodeconfig")), *(["--partial"] if partial else [])]
    result = subprocess.run(command, input=document, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


def kubelet(flags: list[str]) -> Node:
    """Hand flags to the kubelet's own command line; raises CalledProcessError when it rejects them."""
    result = subprocess.run([build.ensure("kubelet-taints"), *flags], capture_output=True, text=True, check=True)
    read = json.loads(result.stdout)
    return Node(read["labels"] or {}, read["taints"])


def settings(user_data: str) -> Any:  # noqa: ANN401  (TOML)
    """Bottlerocket's settings."""
    return tomllib.loads(user_data)["settings"]


def run_al2(user_data: str, folder: Path) -> dict[str, str]:
    """Run an AL2 script in bash; returns what ``bootstrap.sh`` was called with, by option, the cluster as ``""``.

    A recorder stands in for ``/etc/eks/bootstrap.sh``, which only the image has: the test replaces that path in the
    script by the recorder's. Scripts see ``folder`` as their home and working directory.
    """
    record = folder / "record.json"
    recorder = folder / "recorder"
    recorder.write_text(
        f"#!{sys.executable}\nimport json, pathlib, sys\n"
        f"pathlib.Path({str(record)!r}).write_text(json.dumps(sys.argv[1:]))\n"
    )
    recorder.chmod(0o755)
    assert user_data.count(BOOTSTRAP) == 1
    script = folder / "user-data"
    script.write_text(user_data.replace(BOOTSTRAP, str(recorder)), newline="")
    subprocess.run(["bash", "-n", script], check=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    subprocess.run(["bash", script], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    cluster, *options = json.loads(record.read_text())
    return {"": cluster} | dict(zip(options[::2], options[1::2], strict=True))


def as_systemd(kubelet_extra_args: str) -> list[str]:
    """Split the line as systemd does when ``bootstrap.sh`` has put it into Environment=: ``%%`` is ``%``."""
    assert not re.search(r"%(?!%)", kubelet_extra_args.replace("%%", ""))
    return kubelet_extra_args.replace("%%", "%").split()
