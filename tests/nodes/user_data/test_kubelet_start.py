"""A script that would start the kubelet is found; bash is the judge. One that mentions a start is found too."""

from __future__ import annotations

import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.limits import MAX_USER_DATA_BYTES
from multiarch.nodes.user_data.kubelet_start import starts_kubelet

STARTING = [
    "/etc/eks/bootstrap.sh checkout-dev",
    "source /etc/eks/bootstrap.sh checkout-dev",
    "bash /etc/eks/bootstrap.sh checkout-dev",
    "sudo -u root /etc/eks/bootstrap.sh checkout-dev",
    "exec /etc/eks/bootstrap.sh checkout-dev",
    "systemctl start kubelet",
    "systemctl restart containerd kubelet.service",
    "systemctl enable --now kubelet",
    "systemctl --now enable kubelet",
    "systemctl start --no-block nodeadm-run",
    "systemctl start 'kube*'",
    'ACTION=start systemctl "restart" "kubelet"',
    "service kubelet start",
    "nodeadm init --config-source file:///x",
    "true; false || systemctl start kubelet",
    "if true; then systemctl start kubelet; fi",
    "while ! false; do systemctl start kubelet; break; done",
    "start() { systemctl start kubelet; }; start",
    "( systemctl start kubelet )",
    "{ systemctl start kubelet; }",
    "! systemctl start kubelet",
    "case x in\n  a|b) true ;;\n  x) systemctl start kubelet ;;\nesac",
    "timeout 60 systemctl \\\n  start kubelet",
    "env -u HOME systemctl start kubelet",
    "nice -n 5 nohup systemctl start kubelet",
    "systemctl start kubelet >/dev/null 2>&1",
    "2>/dev/null systemctl start kubelet",
    "systemctl start kubelet &",
    "x=$(systemctl start kubelet)",
    "x=`systemctl start kubelet`",
    'echo "started: $(systemctl start kubelet)"',
    'echo "$(echo ")"; systemctl start kubelet)"',
    'echo "it\'s" && systemctl start kubelet',
    "true # it's\nsystemctl start kubelet",
    "echo a#b; systemctl start kubelet",
    "bash -c 'systemctl start kubelet'",
    "sudo bash -ec 'true; systemctl start kubelet'",
    "eval 'systemctl start kubelet'",
    "bash <<'EOF'\nsystemctl start kubelet\nEOF",
    "bash <<-EOF\n\tsystemctl start kubelet\n\tEOF",
    "bash <<< 'systemctl start kubelet'",
    "echo 'systemctl start kubelet' | bash",
    "cat <<EOF | bash\nsystemctl start kubelet\nEOF",
    "cat <<EOF >/dev/null\nx\nEOF\nsystemctl start kubelet",
    "cat <(systemctl start kubelet)",
    "[[ kubelet =~ (kubelet|x) ]] && systemctl start kubelet",
    "units=(a b) && systemctl start kubelet",
]
NOT_STARTING = [
    "",
    "# systemctl start kubelet",
    "true # && /etc/eks/bootstrap.sh x",
    "kubelet --version",
    "version=$(kubelet --version)",
    "command -v kubelet >/dev/null || true",
    "systemctl stop kubelet",
    "systemctl enable kubelet",
    "systemctl daemon-reload",
    "systemctl status kubelet",
    "systemctl restart containerd",
    'unit=docker; systemctl restart "$unit"',
    "nodeadm config check",
    "mkdir -p kubelet.service.d; touch kubelet",
    "sudo touch kubelet",
    "case kubelet in\n  kubelet|x) true ;;\nesac",
    "case kubelet in x|kubelet) true ;; esac",
    "[[ x =~ (kubelet|nodeadm) ]] || true",
    "grep -s kubelet /nonexistent/kubelet || true",
    "sudo sed -n s/a/b/ /dev/null # /etc/eks/bootstrap.sh",
    "systemctl stop kubelet; systemctl restart containerd",
    "systemctl restart containerd && systemctl is-active kubelet",
    "touch kubelet.conf; systemctl restart chronyd",
    "systemctl start kubelet-exporter",
    "bash bootstrap.sh || true",
    "sed -n 's|a|b|' /etc/eks/bootstrap.sh || true",
]
# Rejected as well: only a shell could tell these from the others.
MENTIONING = [
    "echo systemctl start kubelet",
    "echo 'run /etc/eks/bootstrap.sh later' # or: nodeadm init",
    'printf "%s\\n" "nodeadm init; kubelet"',
    "cat <<EOF >unit\nExecStart=systemctl start kubelet\n/etc/eks/bootstrap.sh x\nEOF",
    "cat <<'EOF' >unit\n$(systemctl start kubelet)\nEOF",
    "x='systemctl start kubelet'",
    "units=(kubelet nodeadm init)",
    "bash -c 'echo systemctl start kubelet'",
    "echo $(( 1 + 2 )) ${x:-systemctl start kubelet}",
]
# Leaves a mark if a call would start the kubelet; the real programs of a node are not here.
STAND_IN = """\
#!/bin/bash
has() {{ local wanted=$1 each; shift; for each; do [[ $each == "$wanted" ]] && return; done; false; }}
unit() {{ [[ $1 == nodeadm* || kubelet == ${{1%.service}} ]]; }}
units() {{ local each; for each; do unit "$each" && return; done; false; }}
case ${{0##*/}} in
  kubelet) [[ $* != --version ]] ;;
  nodeadm) [[ $1 == init ]] ;;
  service) unit "$1" && has start "$@" ;;
  systemctl) units "$@" && {{ has start "$@" || has restart "$@" || {{ has enable "$@" && has --now "$@"; }}; }} ;;
esac && : >{record}
exit 0
"""


@dataclass(frozen=True)
class Programs:
    """Stand-ins for a node's programs, for the tests of this module; ``/etc/eks`` is replaced by ``eks``."""

    bin: Path
    eks: Path
    record: Path


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    folder = tmp_path_factory.mktemp("node")
    made = Programs(folder / "bin", folder / "etc" / "eks", folder / "started")
    for place in (made.bin, made.eks):
        place.mkdir(parents=True)
    record = shlex.quote(str(made.record))
    files = {made.bin / name: STAND_IN.format(record=record) for name in ("kubelet", "nodeadm", "service", "systemctl")}
    files[made.eks / "bootstrap.sh"] = f"#!/bin/bash\n: >{record}\n"
    files[made.bin / "sudo"] = '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift 2; done\nexec "$@"\n'
    for file, text in files.items():
        file.write_text(text)
        file.chmod(0o755)
    return made


def kubelet_started(script: str, programs: Programs, home: Path) -> bool:
    """Run a script in bash, with ``home`` for its folder; whether a node's program was told to start the kubelet."""
    programs.record.unlink(missing_ok=True)
    subprocess.run(
        ["bash", "-c", script.replace("/etc/eks", str(programs.eks)) + "\nwait"],
        cwd=home,
        env={"PATH": f"{programs.bin}:/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
        check=False,
        timeout=30,
    )
    return programs.record.exists()


@pytest.mark.parametrize("script", STARTING)
def test_a_script_that_starts_the_kubelet_is_found(script: str, programs: Programs, tmp_path: Path) -> None:
    assert kubelet_started(script, programs, tmp_path)
    assert starts_kubelet(script) is not None


@pytest.mark.parametrize("script", NOT_STARTING)
def test_a_script_that_starts_no_kubelet_passes(script: str, programs: Programs, tmp_path: Path) -> None:
    assert not kubelet_started(script, programs, tmp_path)
    assert starts_kubelet(script) is None


@pytest.mark.parametrize("script", MENTIONING)
def test_a_script_that_mentions_a_start_outside_of_a_comment_is_found_too(script: str) -> None:
    assert starts_kubelet(script) is not None


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("true\n\nsudo systemctl  start \\\n  kubelet\n", "line 3: sudo systemctl start kubelet"),
        ("#!/bin/sh\ncat <<EOF\na\nb\nEOF\nnodeadm init\n", "line 6: nodeadm init"),
        (
            "x='a\nb'\nif x; then\n  /etc/eks/bootstrap.sh c --x 'y z'\nfi\n",
            "line 4: /etc/eks/bootstrap.sh c --x 'y z'",
        ),
        ('# a\n# b\necho "\\\n$(systemctl start kubelet)"', 'line 3: echo " $(systemctl start kubelet)"'),
    ],
)
def test_the_reason_names_the_line(script: str, reason: str) -> None:
    assert starts_kubelet(script) == reason


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("#!/usr/bin/env python3\nrun(['systemctl', 'start', 'kubelet'])\n", True),
        ("#!/usr/bin/python3\nrun('systemctl enable --now kubelet')\n", True),
        ("#!/usr/bin/perl\nsystem('/etc/eks/bootstrap.sh');\n", True),
        ("#!/usr/bin/env python3\nrun(['nodeadm', 'init'])\n", True),
        ("#!/usr/bin/env python3\n# systemctl start kubelet\n", False),
        ("#!/usr/bin/env python3\nrun(['systemctl', 'stop', 'kubelet'])\n", False),
        ("#!/usr/bin/env bash\n# systemctl start kubelet\n", False),
        ("#!/bin/bash -e\nsystemctl start kubelet\n", True),
    ],
)
def test_in_other_languages_every_mention_of_a_start_counts(script: str, *, found: bool) -> None:
    assert (starts_kubelet(script) is not None) is found


@given(st.text(alphabet=st.sampled_from("ab\n\t '\"\\`$(){}<>|&;#=[]-!*1") | st.characters(), max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    assert starts_kubelet(text) is None


@given(st.integers(1, 300), st.sampled_from(["$(", "`", '"$(', "(", "bash -c '", "${", "<("]))
def test_deep_nesting_is_not_trouble(depth: int, opening: str) -> None:
    assert starts_kubelet(opening * depth) is None
    assert starts_kubelet("true\n" + opening * depth + "\n") is None


@given(st.lists(st.sampled_from(NOT_STARTING), max_size=5), st.sampled_from(STARTING))
def test_a_start_is_found_behind_anything_harmless(before: list[str], start: str) -> None:
    assert starts_kubelet("\n".join([*before, start])) is not None


@pytest.mark.parametrize(
    "part",
    [
        "eval ",
        "systemctl ",
        "systemctl enable ",
        "--now enable ",
        "nice -a ",
        "-a ",
        ";a=b ",
        ";/a",
        "nodeadm ",
        "# ",
        "\\\n",
    ],
)
def test_a_script_of_the_longest_length_is_read_in_a_moment(part: str) -> None:
    script = f"nice {part * (MAX_USER_DATA_BYTES // len(part))}"
    began = time.process_time()
    starts_kubelet(script)
    assert time.process_time() - began < 3
