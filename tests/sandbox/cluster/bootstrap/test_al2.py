"""The reader of AL2's user data follows bash and bootstrap.sh."""

from __future__ import annotations

import pytest

from sandbox.cluster.bootstrap.al2 import read
from sandbox.cluster.bootstrap.model import NodeStartError

CALL = (
    "#!/bin/bash\n/etc/eks/bootstrap.sh shop --b64-cluster-ca Y2E= --apiserver-endpoint https://x "
    "--kubelet-extra-args '--register-with-taints=arch=arm64:NoSchedule'\n"
)
ARCHIVE = (
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    f'--b\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n{CALL}--b--\n'
)


@pytest.mark.parametrize(
    "script",
    [
        CALL.replace("\n/etc", "\n# /etc/eks/bootstrap.sh other\n/etc"),
        CALL.replace("\n/etc", "\nsed -i s/a/b/ /etc/eks/bootstrap.sh\necho /etc/eks/bootstrap.sh\n/etc"),
        CALL.replace("--b64", "\\\n  --b64"),
        ARCHIVE,
    ],
)
def test_the_call_is_found_as_bash_runs_it(script: str) -> None:
    assert read([script]).flags == ("--register-with-taints=arch=arm64:NoSchedule",)


def test_flags_pass_through_systemd() -> None:
    extra = '--node-labels="a=b,c=d"  --eviction-hard=memory.available<5%%'
    assert read([CALL.replace("--register-with-taints=arch=arm64:NoSchedule", extra)]).flags == (
        "--node-labels=a=b,c=d",
        "--eviction-hard=memory.available<5%",
    )


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("/etc/eks/", "/opt/eks/", "0 scripts in the user data call"),
        (" shop", "", "bash can't read"),
        ("NoSchedule", 'No"Schedule', "bash can't read"),
    ],
)
def test_what_would_not_start_the_kubelet_is_an_error(was: str, becomes: str, reason: str) -> None:
    with pytest.raises(NodeStartError, match=reason):
        read([CALL.replace(was, becomes, 1)])


@pytest.mark.parametrize("archive", ["MIME-Version: 1.0\n\nno parts\n", "Content-Type: multipart/mixed\n\nx\n"])
def test_a_broken_archive_is_an_error(archive: str) -> None:
    with pytest.raises(NodeStartError, match="broken MIME archive"):
        read([archive])
