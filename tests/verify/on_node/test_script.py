"""The script, run by the shells of this machine."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from multiarch.verify.on_node import script as script_module
from multiarch.verify.on_node.report import parse_report
from multiarch.verify.on_node.script import node_script

_SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
_FILES = Path(script_module.__file__).parent / "shell"


@pytest.mark.parametrize("containers", [False, True])
@pytest.mark.parametrize("shell", _SHELLS)
def test_every_shell_runs_it(shell: str, *, containers: bool) -> None:
    script = node_script(containers=containers)
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    assert done.stderr == ""
    assert parse_report(done.stdout).machine == platform.machine()


@pytest.mark.parametrize("containers", [False, True])
def test_run_command_takes_it(*, containers: bool) -> None:
    script = node_script(containers=containers)

    # SSM replaces {{ parameters }}; the agent writes the script to a file as it is.
    assert "{{" not in script
    assert script.isascii()
    assert len(script) < 16_000
    assert "\n#" not in script


def test_only_digits_of_ids_are_taken() -> None:
    assert node_script(containers=True, ids="07").startswith("ids=07\n")
    for ids in ("", "g", "0;rm", "$x"):
        with pytest.raises(ValueError, match="ids must be digits"):
            node_script(containers=True, ids=ids)


_SECRETS = [
    "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----",
    "c2VjcmV0c2VjcmV0c2VjcmV0",
    "Authorization: Bearer c2VjcmV0",
    "token: eyJhbGciOi.eyJzdWIiOi.c2VjcmV0",
    'got "k8s-aws-v1.c2VjcmV0"',
    "AWS_SECRET_ACCESS_KEY=c2VjcmV0/K7MDENG",
    "aws_session_token = c2VjcmV0",
    "--token c2VjcmV0",
    "--bootstrap-token=c2VjcmV0.c2VjcmV0",
    "client-key-data: c2VjcmV0",
    '{"certificateAuthority": "c2VjcmV0"}',
    "password: 'c2VjcmV0 with blanks'",
    "https://s3.example/x?X-Amz-Signature=c2VjcmV0&X-Amz-Security-Token=c2VjcmV0",
    "/etc/eks/bootstrap.sh prod --b64-cluster-ca c2VjcmV0 --apiserver-endpoint https://x",
    "key " + "c2VjcmV0" * 6,
]


@pytest.mark.parametrize("secret", _SECRETS)
def test_log_lines_hold_no_secrets(secret: str) -> None:
    masked = _masked(secret)

    assert "c2VjcmV0" not in masked
    assert "[masked]" in masked


@pytest.mark.parametrize(
    "line",
    [
        "Unable to register node with API server: Unauthorized",
        "x509: certificate signed by unknown authority",
        'Post "https://ABCDEF.gr7.eu-west-1.eks.amazonaws.com/api/v1/nodes": dial tcp 10.0.3.7:443: i/o timeout',
        "/usr/bin/kubelet: cannot execute binary file: Exec format error",
        "--kubeconfig=/var/lib/kubelet/kubeconfig --bootstrap-kubeconfig /var/lib/kubelet/bootstrap",
    ],
)
def test_log_lines_keep_the_reason(line: str) -> None:
    assert _masked(line) == line


def _masked(text: str) -> str:
    code = "".join((_FILES / f"{name}.sh").read_text() for name in ("common", "node")) + "\nmasked\n"
    return subprocess.run(["sh", "-c", code], input=text, capture_output=True, text=True, check=True).stdout.strip("\n")
