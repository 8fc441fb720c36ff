"""The environment leads into the sandbox, and nowhere else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox import environment
from sandbox.environment import Environment
from sandbox.state import Engine
from tests.sandbox.shop import Project

URL = "http://127.0.0.1:1234"
ENGINE = Engine(Path("/opt/pulumi bin/pulumi"), "v3.272.0", "PATH")


def made(project: Project, environ: dict[str, str], *, by_hand: bool = False) -> Environment:
    return environment.build(project.layout, ENGINE, URL, "shop-dev", environ, by_hand=by_hand)


@pytest.mark.parametrize(
    "name",
    [
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_ENDPOINT_URL_EKS",
        "PULUMI_ACCESS_TOKEN",
        "PULUMI_STACK",
        "PULUMI_CONFIG_PASSPHRASE_FILE",
    ],
)
def test_what_would_lead_to_a_real_account_is_taken_away(project: Project, name: str) -> None:
    environ = {name: "genuine", "AWS_ACCESS_KEY_ID": "genuine", "PULUMI_BACKEND_URL": "s3://genuine", "HOME": "/home/x"}
    applied = made(project, environ).applied_to(environ)
    assert "genuine" not in " ".join(applied.values())
    assert name not in applied
    assert applied["HOME"] == "/home/x"
    assert applied["AWS_ENDPOINT_URL"] == URL
    assert applied["AWS_REGION"] == "eu-central-1"


def test_a_proxy_is_not_asked_for_the_sandbox(project: Project) -> None:
    applied = made(project, {"NO_PROXY": "example.com", "HTTPS_PROXY": "http://proxy"}).applied_to({})
    assert applied["NO_PROXY"] == "127.0.0.1,example.com"


def test_the_engine_comes_before_the_sandboxs_own_pulumi(project: Project) -> None:
    by_hand = made(project, {"PATH": "/usr/bin"}, by_hand=True).applied_to({})
    folders = made(project, by_hand).set["PATH"].split(":")
    assert folders.index("/opt/pulumi bin") < folders.index(str(project.layout.bin))


def test_the_shell_lines_survive_a_shell(project: Project) -> None:
    lines = made(project, {"AWS_PROFILE": "real"}, by_hand=True).as_shell()
    script = lines + 'printf "%s\\n" "$PATH" "$PULUMI_BACKEND_URL" "${AWS_PROFILE-none}"'
    result = subprocess.run(
        ["/bin/sh", "-eu", "-c", script], env={"AWS_PROFILE": "real"}, capture_output=True, text=True, check=True
    )
    path, backend, profile = result.stdout.splitlines()
    assert "/opt/pulumi bin" in path.split(":")
    assert backend == f"{project.layout.backend.as_uri()}?metadata=skip"
    assert profile == "none"


def test_a_shell_selects_its_stack_and_a_command_of_the_sandbox_none(project: Project) -> None:
    assert made(project, {}, by_hand=True).set["PULUMI_STACK"] == "shop-dev"
    assert "PULUMI_STACK" in made(project, {"PULUMI_STACK": "shop-prod"}).unset


def test_a_name_that_is_not_a_variables_is_no_line_for_a_shell(project: Project, tmp_path: Path) -> None:
    evil = f"AWS_X;touch {tmp_path}/done;"
    environ = {evil: "1", "AWS_X-Y": "2", "AWS_PROFILE": "real"}
    lines = made(project, environ, by_hand=True).as_shell()
    subprocess.run(["/bin/sh", "-eu", "-c", lines], check=True)
    assert not (tmp_path / "done").exists()
    assert "unset AWS_PROFILE\n" in lines


def test_this_process_forgets_the_users_aws_settings() -> None:
    environ = {"AWS_PROFILE": "real", "AWS_CONFIG_FILE": "/home/x/config", "HOME": "/home/x"}
    environment.forget_aws(environ)
    assert environ == {
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "HOME": "/home/x",
    }
