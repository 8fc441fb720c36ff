"""The reader of AL2's user data follows bash and bootstrap.sh."""

from __future__ import annotations

import pytest

from sandbox.cluster.bootstrap.al2 import read
from sandbox.cluster.bootstrap.model import NodeStartError
from sandbox.cluster.bootstrap.registration import registration

CALL = (
    "#!/bin/bash\n/etc/eks/bootstrap.sh shop --b64-cluster-ca Y2E= --apiserver-endpoint https://x "
    "--kubelet-extra-args '--register-with-taints=arch=arm64:NoSchedule'\n"
)
ARCHIVE = (
    "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    f'--b\nContent-Type: text/x-shellscript; charset="us-ascii"\n\n{CALL}--b--\n'
)


def test_a_call_without_the_api_server_leaves_it_to_eks() -> None:
    start = read(["#!/bin/bash\n/etc/eks/bootstrap.sh shop --apiserver-endpoint https://x\n"])
    assert (start.cluster, start.endpoint, start.certificate_authority) == ("shop", "", "")
    assert (start.flags, dict(start.config), start.ignored) == ((), {}, ())


@pytest.mark.parametrize(
    "script",
    [
        CALL,
        CALL.replace("/etc/eks", "source /etc/eks"),
        CALL.replace("/etc/eks", "exec /etc/eks"),
        CALL.replace("\n/etc", "\ncat <<'EOF' >x\n/etc/eks/bootstrap.sh other\nEOF\n/etc"),
        CALL.replace("\n/etc", "\n# /etc/eks/bootstrap.sh other\n/etc"),
        CALL.replace("\n/etc", "\nsed -i s/a/b/ /etc/eks/bootstrap.sh\necho /etc/eks/bootstrap.sh\n/etc"),
        CALL.replace("--b64", "\\\n  --b64"),
        ARCHIVE,
    ],
)
def test_the_call_is_found_as_bash_runs_it(script: str) -> None:
    start = read([script])
    assert (start.cluster, start.endpoint, start.certificate_authority) == ("shop", "https://x", "Y2E=")
    assert start.flags == ("--register-with-taints=arch=arm64:NoSchedule",)


@pytest.mark.parametrize(
    "slip",
    ["--kubelet-extra-arg '", "--kubelet-extra-args='", "--kubelet_extra_args '", "-kubelet-extra-args '"],
)
def test_an_option_that_bootstrap_sh_does_not_know_has_no_effect(slip: str) -> None:
    start = read([CALL.replace("--kubelet-extra-args '", slip)])
    assert start.ignored
    assert registration(start).taints == ()


def test_flags_pass_through_systemd() -> None:
    extra = '--node-labels="a=b,c=d"  --eviction-hard=memory.available<5%%'
    assert read([CALL.replace("--register-with-taints=arch=arm64:NoSchedule", extra)]).flags == (
        "--node-labels=a=b,c=d",
        "--eviction-hard=memory.available<5%",
    )


@pytest.mark.parametrize(
    ("was", "becomes", "reason"),
    [
        ("#!", "", "does not begin with #!"),
        ("/etc/eks/", "/opt/eks/", "0 scripts in the user data call"),
        (" shop", "", "no cluster is named"),
        ("Y2E=", "***", "not base64"),
        ("NoSchedule'", "NoSchedule", "bash can't read"),
        ("https://x", "$URL", "shell's variables"),
        ("https://x", "`cat url`", "shell's variables"),
        ("NoSchedule", "NoSchedule%", "systemd reads"),
        ("NoSchedule", "NoSchedule%h", "systemd reads"),
        ("NoSchedule", "No\\Schedule", "systemd reads"),
        ("NoSchedule", 'No"Schedule', "systemd can't read"),
    ],
)
def test_what_would_not_start_the_kubelet_is_an_error(was: str, becomes: str, reason: str) -> None:
    assert was in CALL
    with pytest.raises(NodeStartError, match=reason):
        read([CALL.replace(was, becomes, 1)])


def test_a_second_call_is_an_error() -> None:
    with pytest.raises(NodeStartError, match="2 scripts"):
        read([CALL, CALL])


@pytest.mark.parametrize("archive", ["MIME-Version: 1.0\n\nno parts\n", "Content-Type: multipart/mixed\n\nx\n"])
def test_a_broken_archive_is_an_error(archive: str) -> None:
    with pytest.raises(NodeStartError, match="broken MIME archive"):
        read([archive])
