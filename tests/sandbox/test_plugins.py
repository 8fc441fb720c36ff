"""Official plugins: which, where from, what leads them to the sandbox; a missing one ends the command in one line."""

from __future__ import annotations

import importlib.metadata
import inspect
from pathlib import Path

import pulumi_aws
import pytest
from pulumi_aws._inputs import ProviderEndpointArgs

from multiarch.doctor.programs import BROUGHT_BY_EKS
from sandbox import environment, plugins
from sandbox.layout import SandboxUsageError
from sandbox.providers.aws.provider import ROWS
from sandbox.state import Engine
from tests.sandbox.shop import Project

AWS = importlib.metadata.version("pulumi_aws")
OFFLINE = """#!/bin/sh
[ "$1" = version ] && echo v3.999.0 && exit
echo 'warning: Error downloading plugin: dial tcp: lookup get.pulumi.com: no such host' >&2
echo 'error: downloading from : failed to download plugin: failed all 5 attempts' >&2
exit 1
"""


def script(file: Path, text: str = "#!/bin/sh\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("text", "names"),
    [("official", {"aws", "eks", "kubernetes"}), ("stand-ins", set()), ("eks,kubernetes", {"eks", "kubernetes"})],
)
def test_each_provider_can_be_official(text: str, names: set[str]) -> None:
    assert plugins.parse_names(text) == names


def test_an_unknown_provider_is_rejected() -> None:
    with pytest.raises(SandboxUsageError, match=r"PROVIDERS has 'azure'\. Allowed are official, stand-ins, or some of"):
        plugins.parse_names("aws,azure")


def test_a_plugin_on_path_serves_all_versions_and_runs_in_place_of_the_stand_in(
    project: Project, tmp_path: Path
) -> None:
    program = script(tmp_path / "own programs" / "pulumi-resource-aws", '#!/bin/sh\necho "official $1"\n')
    said: list[str] = []
    engine = Engine(Path("/nonexistent"), "v3.999.0", "PATH")
    found = plugins.find_plugins(frozenset({"aws"}), engine, {"PATH": str(program.parent)}, said.append)
    assert found == {f"aws-v{version}": str(program) for version in (AWS, BROUGHT_BY_EKS["aws"])}
    assert said[0] == f"provider aws {AWS}: the official plugin (PATH, {program}, whatever its version is)"
    environment.write_plugins(project.layout, found)
    made = {file.parent.name: file.read_text() for file in (project.layout.home / "plugins").glob("*/*")}
    assert len(made) == len(plugins.list_wanted())
    assert {name for name, text in made.items() if str(program) in text} == {f"resource-{key}" for key in found}


def test_without_a_plugin_the_command_ends_in_one_line_and_nothing_runs(project: Project, tmp_path: Path) -> None:
    script(tmp_path / "bin" / "pulumi", OFFLINE)
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = project.run("up", "shop-dev", "--providers", "official", environ=environ, expect=2)
    reason = "dial tcp: lookup get.pulumi.com: no such host"
    way_out = "Let this machine reach https://get.pulumi.com and https://github.com, or put pulumi-resource-aws on PATH"
    *_, last = lines = ran.stderr.splitlines()
    assert lines[-2] == f"sandbox: downloading the official aws plugin {AWS}"
    assert last.startswith(f"sandbox: The official aws plugin {AWS} could not be downloaded: {reason}. {way_out};")
    assert project.running() == []


@pytest.mark.parametrize(
    ("wanted", "stack", "reason"),
    [
        (
            {"aws"},
            "shop-dev",
            r"PROVIDERS can't change while stacks are up: shop-dev came up with official kubernetes 1",
        ),
        (None, "shop-prod", r"With the official Kubernetes provider one stack at a time can be up, and shop-dev is\."),
    ],
)
def test_what_is_up_keeps_its_plugins(wanted: set[str] | None, stack: str, reason: str) -> None:
    official = {"kubernetes-v1": "/bin/kubernetes"}
    plugins.require_same(official, None, ["shop-dev"], "shop-dev")
    plugins.require_same(official, frozenset({"kubernetes"}), ["shop-dev"], "shop-dev")
    with pytest.raises(SandboxUsageError, match=reason):
        plugins.require_same(official, None if wanted is None else frozenset(wanted), ["shop-dev"], stack)


def test_the_official_aws_provider_calls_the_sandbox_alone() -> None:
    options = plugins.make_settings("http://127.0.0.1:1")
    assert options[0] == "--config-path"
    settings = dict(option.removeprefix("--config=aws:").split("=", 1) for option in options[1:])
    endpoints = {key.partition(".")[2] for key, value in settings.items() if value == "http://127.0.0.1:1"}
    # The SDK of the pinned version has all of these, and all services whose resources are declared are there.
    assert endpoints <= set(inspect.signature(ProviderEndpointArgs.__init__).parameters)
    named = {"events": "cloudwatchevents", "logs": "cloudwatchlogs"}
    services = {row.source.partition("/")[0] for row in ROWS.values()}
    assert {named.get(each, each) for each in services} | {"sts"} == endpoints
    skipped = {key for key, value in settings.items() if value == "true"}
    assert skipped == {"skipCredentialsValidation", "skipMetadataApiCheck", "skipRegionValidation"}
    assert all(hasattr(pulumi_aws.config, f"skip_{rest}") for rest in ("credentials_validation", "metadata_api_check"))


def test_only_the_sandboxs_aws_cli_has_the_token_of_its_control_plane(project: Project) -> None:
    engine = Engine(Path("/opt/pulumi"), "v3.999.0", "PATH")

    def folders() -> list[str]:
        made = environment.build(project.layout, engine, "http://127.0.0.1:1", "shop-dev", {"PATH": "/usr/bin"})
        return made.set["PATH"].split(":")

    environment.write_plugins(project.layout)
    assert folders()[-1] == str(project.layout.programs)
    environment.write_token(project.layout, "secret")
    assert folders()[0] == str(project.layout.programs)
    assert project.layout.token.stat().st_mode & 0o077 == 0
