"""The sandbox's commands, with the real engine and the real AWS server."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import inventory, state
from sandbox.layout import CLONE
from tests.sandbox.shop import Project

pytestmark = pytest.mark.e2e

PROD = "config: {'fixture:parts': [big], 'aws:region': eu-west-1}\n"


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def server_of(project: Project) -> state.Server:
    server = state.load(project.layout).server
    assert server is not None
    return server


def start_slow_up(project: Project, tmp_path: Path, **values: str) -> subprocess.Popen[str]:
    """Start an `up` whose program waits for a file to go, and return when the program is at work."""
    reached = tmp_path / "reached"
    project.set(slow=str(reached), **values)
    process = project.start("up", "shop-dev")
    until(reached.exists)
    return process


def signal_engine(project: Project, number: signal.Signals) -> None:
    """Send a signal to the engine that has locked the stack."""
    (lock,) = project.locks()
    os.kill(json.loads(lock.read_text())["pid"], number)


def by_hand(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the environment that `python -m sandbox env` prints, from some other folder."""
    prefix = f'set -eu\neval "$({shlex.join(project.command("env", "shop-dev"))})"\ncd /\n'
    return subprocess.run(
        ["sh", "-c", prefix + script], cwd=CLONE, capture_output=True, text=True, timeout=120, check=False
    )


def in_the_clone(command: list[str]) -> str:
    return f"cd {shlex.quote(str(CLONE))} && {shlex.join(command)}"


# -- from nothing, or to nothing: each in a sandbox of its own -------------------------------------------------------


def test_up_then_preview_shows_no_change_then_down_leaves_nothing(project: Project, tmp_path: Path) -> None:
    before = project.stack_file().read_bytes()
    # The user's AWS settings, of which any client that reads them fails.
    (tmp_path / "config").write_text("[profile\nnot a config file")
    users = {"AWS_PROFILE": "nonexistent", "AWS_CONFIG_FILE": str(tmp_path / "config"), "AWS_MAX_ATTEMPTS": "many"}
    up = project.run("up", "shop-dev", environ=users)
    assert "shop-dev is up: + 3 created" in up.stderr
    assert "  parts: 2\n" in up.stdout
    assert "  password: [secret]\n" in up.stdout
    assert "hidden" not in up.stdout
    assert "3 unchanged" in project.run("preview", "shop-dev", "--expect-no-changes", environ=users).stdout
    assert project.stack_file().read_bytes() == before
    assert "shop-dev: 3 resources" in project.run("status", environ=users).stdout
    down = project.run("down", environ=users)
    assert "nothing is left: no resource in AWS, no process, no file" in down.stderr
    assert project.stack_file().read_bytes() == before
    assert sorted(entry.name for entry in project.root.iterdir()) == ["Pulumi.yaml", "__main__.py", "config"]
    assert project.running() == []
    assert "nothing is up" in project.run("down").stderr


def test_a_preview_needs_no_up_and_force_ends_what_it_started_also_if_the_state_cannot_be_read(
    project: Project,
) -> None:
    ran = project.run("preview", "shop-dev")
    shown = ran.stdout
    assert "nothing is up: starting an empty AWS for this preview" in ran.stderr
    assert "nothing is up" not in project.run("preview", "shop-dev").stderr
    assert "+ 3 to create" in shown
    assert "warning" not in shown  # those about the sandbox's own programs are neither shown nor counted
    project.layout.state.write_text("{")
    for command in (("down",), ("up", "shop-dev")):
        assert "python -m sandbox down --force` ends what runs" in project.run(*command, expect=3).stderr
    assert len(set(project.running())) == 1
    project.run("down", "--force")
    assert project.running() == []
    assert not project.layout.folder.exists()


def test_stopping_the_first_up_leaves_no_process_also_by_a_second_signal(project: Project, tmp_path: Path) -> None:
    process = start_slow_up(project, tmp_path)
    assert len(project.running()) >= 3
    assert project.locks() != []
    process.send_signal(signal.SIGHUP)  # SIGINT and SIGTERM: see the later ones
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "`make up` starts again from nothing" in stderr
    assert project.running() == []
    assert project.locks() == []

    (tmp_path / "reached").unlink()
    process = start_slow_up(project, tmp_path)  # the next one starts from nothing
    signal_engine(project, signal.SIGSTOP)  # an engine that does not react
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert project.running() == []


def test_an_unknown_stack_names_those_that_are_there_and_starts_nothing(project: Project) -> None:
    assert "Did you mean shop-dev?" in project.run("up", "shop-dew", expect=2).stderr
    assert "There are: shop-dev." in project.run("up", "other", expect=2).stderr
    assert not project.layout.folder.exists()


def test_stacks_that_are_protected_or_of_which_the_file_is_gone_or_broken_are_destroyed_and_what_is_left_is_named(
    project: Project,
) -> None:
    project.set(protect="true")
    project.stack_file("shop-prod").write_text(PROD)
    for stack in ("shop-prod", "shop-dev"):
        project.run("up", stack)
    assert "vpcId: vpc-" in project.run("vpc", "shop-dev").stdout  # there before the stacks, so to say
    ec2 = inventory.Aws(server_of(project).url, "eu-central-1").client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    project.stack_file("shop-prod").unlink()
    status = project.run("status").stdout
    assert "shop-dev: 3 resources" in status
    assert "shop-prod: 2 resources" in status
    project.stack_file().write_text("config: [")
    down = project.run("down", expect=1).stderr
    for stack in ("shop-dev", "shop-prod"):
        assert f"destroying {stack}" in down
    assert "taking the protection away" in down
    assert f"the destroy left 1 VPC in eu-central-1: {vpc}\n" in down
    assert down.count("the destroy left") == 1
    assert project.running() == []


def test_a_sandbox_that_is_not_a_folder_is_rejected_in_one_line_and_nothing_is_removed(
    project: Project, tmp_path: Path
) -> None:
    others = tmp_path / "others"
    (others / "backend").mkdir(parents=True)
    project.layout.folder.symlink_to(others)
    for command in (("up", "shop-dev"), ("down", "--force"), ("sync",)):
        said = project.run(*command, expect=2).stderr
        assert said == f"sandbox: {project.layout.folder} is a symbolic link; the sandbox needs a folder. Remove it.\n"
    assert list(others.iterdir()) == [others / "backend"]
    project.layout.folder.unlink()
    project.layout.folder.write_text("")
    assert "is a file; the sandbox needs a folder" in project.run("down", expect=2).stderr
    project.layout.folder.unlink()


# -- in one sandbox: each test begins with whatever is up ------------------------------------------------------------


def test_a_second_up_uses_the_server_that_runs_and_picks_up_the_users_changes(shared: Project) -> None:
    first = server_of(shared)
    shared.run("up", "shop-dev")
    assert "3 unchanged" in shared.run("up", "shop-dev").stderr
    assert server_of(shared) == first
    told = shared.run("status").stdout
    assert f"AWS: {first.url} " in told
    assert "shop-dev: 3 resources\n" in told
    shared.stack_file().write_text("config:\n  fixture:parts: [one, two, three]\n")
    assert "+ 1 to create" in shared.run("preview", "shop-dev", "--expect-no-changes", expect=1).stdout
    assert "+ 1 created, 3 unchanged" in shared.run("up", "shop-dev").stderr


def test_when_the_server_ends_that_is_said_and_nothing_else_and_the_next_up_starts_from_nothing(
    shared: Project, tmp_path: Path
) -> None:
    old = server_of(shared)
    process = start_slow_up(shared, tmp_path, broken="true")
    os.kill(old.process, signal.SIGKILL)
    (tmp_path / "reached").unlink()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "The sandbox's AWS server ended during `pulumi up` of shop-dev. `make up` starts again" in stderr
    assert "the program says no" not in stderr
    assert "not up" in shared.run("status").stdout
    assert "is not up" in shared.run("env", "shop-dev", expect=2).stderr
    shared.set()
    again = shared.run("up", "shop-dev").stderr
    assert "the sandbox's AWS server is gone, and its state was only in memory. Starting from an empty AWS" in again
    assert "+ 3 created" in again
    assert server_of(shared) != old


def test_stopping_a_later_up_keeps_the_world_and_the_next_one_goes_on(shared: Project, tmp_path: Path) -> None:
    shared.run("up", "shop-dev")
    server = server_of(shared)
    process = start_slow_up(shared, tmp_path)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "`make up` goes on from here" in stderr
    assert shared.locks() == []
    assert len(set(shared.running())) == 1
    assert server_of(shared) == server
    shared.set()
    assert "3 unchanged" in shared.run("up", "shop-dev").stderr


def test_two_commands_at_once_do_not_work_on_one_sandbox(shared: Project, tmp_path: Path) -> None:
    process = start_slow_up(shared, tmp_path)
    for command in ("up", "preview"):
        assert "`up shop-dev` (process" in shared.run(command, "shop-dev", expect=3).stderr
    assert "is at work on this sandbox" in shared.run("down", expect=3).stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert shared.locks() == []


def test_a_program_that_fails_shows_its_reason_once_and_what_runs_goes_on(shared: Project) -> None:
    shared.set(broken="true")
    failed = shared.run("up", "shop-dev", expect=3)
    assert failed.stderr.count("the program says no") == 1
    assert "Traceback" not in failed.stderr
    shown = shared.run("preview", "shop-dev", expect=3)
    assert "the program says no" in shown.stdout
    assert "the program says no" not in shown.stderr
    shared.set(warns="true")
    assert shared.run("up", "shop-dev").stderr.count("warning: a part is old") == 1
    shown = shared.run("preview", "shop-dev")
    assert "a part is old" in shown.stdout


def test_on_a_full_disk_one_line_says_so_and_the_next_command_goes_on(shared: Project) -> None:
    before = shared.layout.state.read_bytes()
    said = shared.run("up", "shop-dev", expect=3, before=("bash", "-c", 'ulimit -f 0 && exec "$@"', "-")).stderr
    assert said.startswith("sandbox: ")
    assert said.count("File too large") == len(said.splitlines()) == 1
    assert shared.layout.state.read_bytes() == before
    assert "shop-dev is up" in shared.run("up", "shop-dev").stderr


def test_a_shell_works_on_its_own_stack_whatever_is_up_beside_it(shared: Project) -> None:
    shared.run("up", "shop-dev")
    shared.stack_file("shop-prod").write_text(PROD)
    try:
        shared.run("up", "shop-prod")
        shared.run("preview", "shop-prod")
        shown = by_hand(shared, "pulumi stack output parts && pulumi stack output parts --stack shop-prod")
        assert shown.stdout.splitlines() == ["2", "1"], shown.stderr
        by_hand(shared, "pulumi destroy --yes --skip-preview --stack shop-prod && pulumi stack rm --yes shop-prod")
    finally:
        shared.stack_file("shop-prod").unlink()


def test_plain_pulumi_in_the_printed_environment_is_the_sandboxs(shared: Project) -> None:
    shared.run("up", "shop-dev")
    engine = state.load(shared.layout).engine
    shown = by_hand(shared, "pulumi preview --expect-no-changes && pulumi stack output password --show-secrets")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "3 unchanged" in shown.stdout
    assert shown.stdout.endswith("hidden\n")
    assert "what `pulumi config set` writes is discarded" in shown.stderr
    shared.stack_file().write_text("config:\n  fixture:parts: [one, two, three]\n")
    changed = by_hand(shared, "pulumi up --yes --skip-preview --non-interactive")
    assert "+ 1 created" in changed.stdout
    assert shared.stack_file().read_text() == "config:\n  fixture:parts: [one, two, three]\n"
    # A command of the sandbox in that shell finds the same engine as outside of it.
    assert "4 unchanged" in by_hand(shared, in_the_clone(shared.command("preview", "shop-dev"))).stdout
    assert state.load(shared.layout).engine == engine
    # What `pulumi config` changes is overwritten, and that is said.
    before = shared.stack_file().read_bytes()
    set_by_hand = by_hand(shared, "pulumi config set fixture:parts '[]'")
    assert set_by_hand.returncode == 0
    assert "reads settings from your stack file again" in set_by_hand.stderr
    shared.run("preview", "shop-dev", "--expect-no-changes")
    assert shared.stack_file().read_bytes() == before


def test_after_the_engine_was_killed_each_command_names_the_one_that_ends_and_removes_all(
    shared: Project, tmp_path: Path
) -> None:
    process = start_slow_up(shared, tmp_path)
    signal_engine(shared, signal.SIGSTOP)  # an engine that does not react
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    locked = "shop-dev is locked: a Pulumi command is at work on it, or was killed."
    assert f"and still is. {locked}" in stderr
    assert "goes on from here" not in stderr
    shared.set()
    for command in (("up", "shop-dev"), ("down",)):
        said = shared.run(*command, expect=3).stderr
        assert said.startswith(f"sandbox: {locked}")
        assert "`.venv/bin/python -m sandbox down --force` ends what runs" in said
    assert len(set(shared.running())) == 1  # the AWS server
    shared.run("down", "--force")
    assert shared.running() == []
    assert not shared.layout.folder.exists()

    (tmp_path / "reached").unlink()
    process = start_slow_up(shared, tmp_path)
    process.kill()  # of its engine's processes, some go on
    process.communicate(timeout=60)
    shared.run("down", "--force")
    assert shared.running() == []
    assert not shared.layout.folder.exists()
