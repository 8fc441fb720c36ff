"""The cache of built tools: what it is keyed by, and what it survives.

Where a test needs a build to be slow, to fail or to be counted, a shell script stands in for ``go``.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.processes import is_running
from tools import build

SCRIPT = Path(build.__file__)


def run(cache: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        env={"XDG_CACHE_HOME": str(cache), "PATH": path, "HOME": str(cache)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def stand_in_go(tmp_path: Path) -> Path:
    """A ``go`` that takes a second to write its output and counts how often it was run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "go"
    script.write_text(
        f"""#!/bin/sh
echo "$$" >> {tmp_path}/calls
while [ "$1" != -o ]; do shift; done
sleep "${{SLOWNESS:-1}}"
printf '#!/bin/sh\\necho built\\n' > "$2"
chmod +x "$2"
"""
    )
    script.chmod(0o755)
    return folder


def path_with(folder: Path) -> str:
    return f"{folder}:/usr/bin:/bin"


@pytest.fixture
def copied_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    for name in {tool.module_folder for tool in build.TOOLS_BY_NAME.values() if not tool.debian_file}:
        (folder / name).mkdir(parents=True)
        for file in (build.TOOLS / name).iterdir():
            (folder / name / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(build, "TOOLS", folder)
    return folder


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_the_key_changes_with_every_file_the_build_reads(copied_tools: Path, file: str) -> None:
    tool = build.TOOLS_BY_NAME["nodeconfig"]
    before = build.key(tool)
    with (copied_tools / "nodeconfig" / file).open("a") as handle:
        handle.write("// changed\n")
    assert build.key(tool) != before


def test_the_language_host_is_rebuilt_when_the_engine_it_borrows_a_script_from_changes(copied_tools: Path) -> None:
    host, other = build.TOOLS_BY_NAME["pulumi-language-python"], build.TOOLS_BY_NAME["nodeconfig"]
    before = build.key(host), build.key(other)
    with (copied_tools / "pulumi" / "go.mod").open("a") as handle:
        handle.write("// changed\n")
    assert build.key(host) != before[0]
    assert build.key(other) == before[1]


def pins(folder: str, module: str) -> set[str]:
    """The versions that a go.mod requires of modules, or puts in their place; ``module`` is a pattern."""
    text = (build.TOOLS / folder / "go.mod").read_text()
    return set(re.findall(rf"^(?:\t|require |replace .* => ){module} (v\S+)", text, re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "module", "variables"),
    [
        ("pulumi", r"github\.com/pulumi/pulumi/(?:pkg|sdk)/v3", {"version.Version": "v{}"}),
        ("pulumi-language-yaml", r"github\.com/pulumi/pulumi-yaml", {"version.Version": "v{}"}),
        ("karpenter", r"github\.com/aws/karpenter-provider-aws", {"operator.Version": "{}"}),
        ("helm", r"helm\.sh/helm/v3", {"version.version": "v{}"}),
        ("kube-apiserver", r"k8s\.io/kubernetes", {"version.gitVersion": "v{}"}),
        ("kube-controller-manager", r"k8s\.io/kubernetes", {"version.gitVersion": "v{}"}),
        ("kube-scheduler", r"k8s\.io/kubernetes", {"version.gitVersion": "v{}"}),
        ("kubelet", r"k8s\.io/kubernetes", {"version.gitVersion": "v{}"}),
        ("kubelet-arm64", r"k8s\.io/kubernetes", {"version.gitVersion": "v{}"}),
        ("containerd", r"github\.com/containerd/containerd/v2", {"version.Version": "v{}"}),
        ("containerd-arm64", r"github\.com/containerd/containerd/v2", {"version.Version": "v{}"}),
        ("containerd-shim-runc-v2", r"github\.com/containerd/containerd/v2", {"version.Version": "v{}"}),
        ("ctr", r"github\.com/containerd/containerd/v2", {"version.Version": "v{}"}),
        ("registry", r"github\.com/distribution/distribution/v3", {"version.version": "v{}"}),
        ("crane", r"github\.com/google/go-containerregistry", {"cmd.Version": "v{}"}),
        ("regctl", r"github\.com/regclient/regclient", {"version.vcsTag": "v{}"}),
    ],
)
def test_the_version_stamped_into_a_tool_is_the_one_its_module_file_pins(
    name: str, module: str, variables: dict[str, str]
) -> None:
    tool = build.TOOLS_BY_NAME[name]
    (version,) = pins(tool.module_folder, module)
    stamps = dict(re.findall(r"-X \S+/(\w+\.\w+)=(\S+)", tool.ldflags))
    assert {variable: stamps[variable] for variable in variables} == {
        variable: form.format(version.removeprefix("v")) for variable, form in variables.items()
    }


def test_karpenters_two_modules_and_kubernetes_staging_modules_are_of_one_release() -> None:
    assert pins("karpenter", r"sigs\.k8s\.io/karpenter") >= pins("karpenter", r"github\.com/aws/karpenter-provider-aws")
    (kubernetes,) = pins("kubernetes", r"k8s\.io/kubernetes")
    text = (build.TOOLS / "kubernetes" / "go.mod").read_text()
    staging = re.findall(r"^\t(k8s\.io/\S+) => \1 (\S+)$", text, re.MULTILINE)
    assert len(staging) == 33
    assert {version for _, version in staging} == {kubernetes.replace("v1.", "v0.", 1)}


def test_without_go_the_message_says_what_for_and_what_works_without(tmp_path: Path) -> None:
    result = run(tmp_path, "pulumi", "nodeconfig")
    assert result.returncode == 3
    assert "and pulumi must be built with it" in result.stderr
    assert "https://go.dev/doc/install" in result.stderr
    assert "`make render STACK=…` and `make check` need only Python" in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_builds_at_once_build_once_and_what_was_built_is_found_without_go(tmp_path: Path, stand_in_go: Path) -> None:
    command = [sys.executable, str(SCRIPT), "nodeconfig"]
    environ = {"XDG_CACHE_HOME": str(tmp_path), "PATH": path_with(stand_in_go), "HOME": str(tmp_path)}
    processes = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len({stdout for stdout, _ in outputs}) == 1
    assert sum("nodeconfig: waiting for the build of " in stderr for _, stderr in outputs) == 2
    later = run(tmp_path, "nodeconfig")
    assert (later.returncode, later.stdout) == (0, outputs[0][0])
    assert "already built" in later.stderr
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_a_failed_build_shows_what_go_said_and_leaves_nothing(tmp_path: Path, stand_in_go: Path) -> None:
    (stand_in_go / "go").write_text("#!/bin/sh\necho 'main.go:1:1: expected package' >&2\nexit 1\n")
    result = run(tmp_path, "nodeconfig", path=path_with(stand_in_go))
    assert result.returncode == 3
    assert "nodeconfig did not build" in result.stderr
    assert "main.go:1:1: expected package" in result.stderr
    assert [path.name for path in (tmp_path / "multiarch-eks" / "tools").iterdir()] == [".lock"]


def test_stopping_a_build_stops_go_and_leaves_nothing(tmp_path: Path, stand_in_go: Path) -> None:
    environ = {
        "XDG_CACHE_HOME": str(tmp_path),
        "PATH": path_with(stand_in_go),
        "HOME": str(tmp_path),
        "SLOWNESS": "60",
    }
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "nodeconfig"], env=environ, stderr=subprocess.PIPE, text=True
    )
    calls = tmp_path / "calls"
    deadline = time.monotonic() + 20
    while not (calls.exists() and calls.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    go = int(calls.read_text())
    assert is_running(go)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "half built is gone" in stderr
    assert not is_running(go)
    assert [path.name for path in (tmp_path / "multiarch-eks" / "tools").iterdir()] == [".lock"]


def test_what_a_killed_build_left_is_swept_by_the_next(tmp_path: Path, stand_in_go: Path) -> None:
    left = tmp_path / "multiarch-eks" / "tools" / ".building-xyz"
    (left / "bin").mkdir(parents=True)
    assert run(tmp_path, "nodeconfig", path=path_with(stand_in_go)).returncode == 0
    assert not left.exists()


@pytest.fixture
def stand_in_apt(tmp_path: Path) -> Path:
    """An ``apt-get`` that has no lists of packages until it is told to fetch some, and a ``dpkg-deb``."""
    folder = tmp_path / "apt"
    folder.mkdir()
    (folder / "apt-get").write_text(
        f"""#!/bin/sh
echo "$@" >> {tmp_path}/calls
case "$*" in
  *update) touch {tmp_path}/lists;;
  *download*) test -e {tmp_path}/lists || {{ echo "E: Unable to locate package" >&2; exit 100; }}
    while [ "$1" != download ]; do shift; done; shift
    for name; do touch "$name.deb"; done;;
esac
"""
    )
    (folder / "dpkg-deb").write_text(
        """#!/bin/sh
mkdir -p "$3/usr/sbin"
printf "#!/bin/sh" > "$3/usr/sbin/runc"
"""
    )
    for script in folder.iterdir():
        script.chmod(0o755)
    return folder


def test_a_debian_package_is_downloaded_and_unpacked_but_not_installed(tmp_path: Path, stand_in_apt: Path) -> None:
    done = run(tmp_path, "runc", path=path_with(stand_in_apt))
    assert done.returncode == 0, done.stderr
    assert os.access(done.stdout.strip(), os.X_OK)
    asked = [line.split()[-2:] for line in (tmp_path / "calls").read_text().splitlines()]
    assert [words[-1] for words in asked] == ["update", "runc"]
    assert "install" not in (tmp_path / "calls").read_text()


def test_without_apt_the_message_names_the_package(tmp_path: Path) -> None:
    done = run(tmp_path, "qemu-aarch64-static")
    assert done.returncode == 3
    assert "the package qemu-user-static of your distribution" in done.stderr
    assert "runs arm64 programs on the sandbox's arm64 node" in done.stderr
