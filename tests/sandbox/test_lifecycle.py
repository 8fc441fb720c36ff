"""The sandbox's commands, with the real engine and the real AWS server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import inventory, processes, state
from sandbox.layout import CLONE
from tests.sandbox.shop import Project

pytestmark = pytest.mark.e2e


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def server_of(project: Project) -> state.Server:
    server = state.load(project.layout).server
    assert server is not None
    return server


def start_slow_up(project: Project, tmp_path: Path) -> subprocess.Popen[str]:
    """Start an `up` whose program does not end, and return when the program is at work."""
    reached = tmp_path / "reached"
    project.set(slow=str(reached))
    process = project.start("up", "shop-dev")
    until(reached.exists)
    return process


def test_up_then_preview_shows_no_change_then_down_leaves_nothing(project: Project) -> None:
    before = project.stack_file().read_bytes()
    up = project.run("up", "shop-dev")
    assert "shop-dev is up: + 3 created" in up.stderr
    assert "  parts: 2\n" in up.stdout
    assert "  password: [secret]\n" in up.stdout
    assert "hidden" not in up.stdout
    assert "3 unchanged" in project.run("preview", "shop-dev", "--expect-no-changes").stdout
    assert project.stack_file().read_bytes() == before
    down = project.run("down")
    assert "nothing is left: no resource in AWS, no process, no file" in down.stderr
    assert project.stack_file().read_bytes() == before
    assert sorted(entry.name for entry in project.root.iterdir()) == ["Pulumi.yaml", "__main__.py", "config"]
    assert project.running() == []
    assert "nothing is up" in project.run("down").stderr


def test_a_change_of_the_users_file_is_picked_up(project: Project) -> None:
    project.run("up", "shop-dev")
    project.stack_file().write_text("config:\n  fixture:parts: [one, two, three]\n")
    assert "+ 1 to create" in project.run("preview", "shop-dev", "--expect-no-changes", expect=1).stdout
    assert "+ 1 created, 3 unchanged" in project.run("up", "shop-dev").stderr


def test_a_second_up_uses_the_server_that_runs(project: Project) -> None:
    project.run("up", "shop-dev")
    first = server_of(project)
    assert "3 unchanged" in project.run("up", "shop-dev").stderr
    assert server_of(project) == first
    told = json.loads(project.run("status", "--output", "json").stdout)
    assert told["up"] is True
    assert told["url"] == first.url
    assert told["stacks"] == {"shop-dev": {"resources": 3, "pending": []}}


def test_a_preview_needs_no_up_and_shows_everything_as_new(project: Project) -> None:
    shown = project.run("preview", "shop-dev").stdout
    assert "+ 3 to create" in shown
    assert "warning" not in shown  # those about the sandbox's own programs are neither shown nor counted


def test_two_sandboxes_do_not_meet(project: Project, second_project: Project) -> None:
    project.run("up", "shop-dev")
    second_project.run("up", "shop-dev")
    assert server_of(project).url != server_of(second_project).url
    project.run("down")
    assert "3 unchanged" in second_project.run("preview", "shop-dev", "--expect-no-changes").stdout


def test_when_the_server_died_up_says_that_the_world_is_gone_and_starts_from_nothing(project: Project) -> None:
    project.run("up", "shop-dev")
    old = server_of(project)
    os.kill(old.process.pid, signal.SIGKILL)
    until(lambda: not processes.alive(old.process))
    assert json.loads(project.run("status", "--output", "json").stdout)["up"] is False
    assert "is not up" in project.run("env", "shop-dev", expect=2).stderr
    again = project.run("up", "shop-dev")
    assert "The sandbox's AWS server is gone, and its state was only in memory." in again.stderr
    assert "+ 3 created" in again.stderr
    kept = list(project.layout.old.rglob("shop-dev.json"))
    assert len(kept) == 1
    assert server_of(project) != old


def test_a_process_that_got_the_servers_number_is_left_alone(project: Project) -> None:
    other = subprocess.Popen(["sleep", "600"])
    try:
        stale = state.Server(processes.ProcessId(other.pid, "long ago"), "http://127.0.0.1:9")
        state.save(project.layout, state.State(server=stale))
        assert "+ 3 created" in project.run("up", "shop-dev").stderr
        assert server_of(project).process.pid != other.pid
        project.run("down")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_stopping_the_first_up_leaves_no_process_and_no_lock(
    project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    process = start_slow_up(project, tmp_path)
    assert len(project.running()) >= 3
    assert project.locks() != []
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "`make up` starts again from nothing" in stderr
    assert project.running() == []
    assert project.locks() == []
    project.set()
    assert "+ 3 created" in project.run("up", "shop-dev").stderr


def test_stopping_a_later_up_keeps_the_world_and_the_next_one_goes_on(project: Project, tmp_path: Path) -> None:
    project.run("up", "shop-dev")
    server = server_of(project)
    process = start_slow_up(project, tmp_path)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "`make up` goes on from here" in stderr
    assert project.locks() == []
    assert len(project.running()) == 1
    assert server_of(project) == server
    project.set()
    assert "3 unchanged" in project.run("up", "shop-dev").stderr


def test_a_second_signal_kills_the_engine_and_still_leaves_nothing(project: Project, tmp_path: Path) -> None:
    process = start_slow_up(project, tmp_path)
    run = state.load(project.layout).run
    assert run is not None
    os.kill(run.process.pid, signal.SIGSTOP)  # an engine that does not react
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert project.running() == []
    assert project.locks() == []


def test_after_the_engine_was_killed_the_next_up_takes_the_lock_away(project: Project, tmp_path: Path) -> None:
    process = start_slow_up(project, tmp_path)
    run = state.load(project.layout).run
    assert run is not None
    os.kill(run.process.pid, signal.SIGKILL)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "pulumi up of shop-dev failed" in stderr
    assert len(project.locks()) == 1
    assert len(project.running()) == 1  # the AWS server: what exists goes on existing
    project.set()
    again = project.run("up", "shop-dev")
    assert "was left locked by a command that is gone: pulumi cancel" in again.stderr
    assert "shop-dev is up" in again.stderr


def test_when_up_itself_was_killed_its_engine_is_named_and_down_ends_it(project: Project, tmp_path: Path) -> None:
    process = start_slow_up(project, tmp_path)
    process.kill()
    process.communicate()
    assert "`up shop-dev` of an earlier command is still at work" in project.run("up", "shop-dev", expect=3).stderr
    down = project.run("down")
    assert "stopping `up shop-dev`" in down.stderr
    assert project.running() == []
    assert not project.layout.folder.exists()


def test_two_commands_at_once_do_not_work_on_one_sandbox(project: Project, tmp_path: Path) -> None:
    process = start_slow_up(project, tmp_path)
    for command in ("up", "preview"):
        assert "`up shop-dev` (process" in project.run(command, "shop-dev", expect=3).stderr
    assert "is at work on this sandbox" in project.run("down", expect=3).stderr
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def test_a_program_that_fails_shows_its_reason_and_what_runs_goes_on(project: Project) -> None:
    project.set(broken="true")
    failed = project.run("up", "shop-dev", expect=3)
    assert "the program says no" in failed.stderr
    assert "Traceback" not in failed.stderr
    project.set()
    assert "shop-dev is up" in project.run("up", "shop-dev").stderr


def test_an_unknown_stack_names_those_that_are_there_and_starts_nothing(project: Project) -> None:
    assert "There are: shop-dev." in project.run("up", "shop-prod", expect=2).stderr
    assert not project.layout.folder.exists()


def test_several_stacks_live_side_by_side_and_go_together(project: Project) -> None:
    project.stack_file("shop-prod").write_text("config: {'fixture:parts': [big], 'aws:region': eu-west-1}\n")
    project.run("up", "shop-dev")
    project.run("up", "shop-prod")
    status = project.run("status").stdout
    assert "shop-dev: 3 resources" in status
    assert "shop-prod: 2 resources" in status
    down = project.run("down").stderr
    assert "destroying shop-dev" in down
    assert "destroying shop-prod" in down


def test_a_stack_whose_file_is_gone_is_shown_and_destroyed_all_the_same(project: Project) -> None:
    project.stack_file("shop-prod").write_text("config: {'fixture:parts': [big], 'aws:region': eu-west-1}\n")
    project.run("up", "shop-prod")
    project.run("up", "shop-dev")
    project.stack_file("shop-prod").unlink()
    project.run("preview", "shop-dev")
    assert "shop-prod: 2 resources" in project.run("status").stdout
    down = project.run("down")
    assert "destroying shop-prod" in down.stderr
    assert "nothing is left" in down.stderr


@pytest.mark.parametrize("text", ["config: [", "config:\n  fixture:token:\n    secure: v1:abc\n"])
def test_a_file_that_was_broken_meanwhile_does_not_hinder_the_destroy(project: Project, text: str) -> None:
    project.run("up", "shop-dev")
    project.stack_file().write_text(text)
    assert "nothing is left" in project.run("down").stderr


def test_a_flag_is_not_a_change_of_the_copy(project: Project) -> None:
    project.set(protect="false")
    for command in ("up", "preview", "up"):
        assert "was changed" not in project.run(command, "shop-dev").stderr


def test_down_takes_protection_away_and_says_so(project: Project) -> None:
    project.set(protect="true")
    project.run("up", "shop-dev")
    assert "taking the protection away" in project.run("down").stderr


def test_down_names_what_a_destroy_left_behind(project: Project) -> None:
    project.run("up", "shop-dev")
    ec2 = inventory.Aws(server_of(project).url, "eu-central-1").client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    down = project.run("down", expect=1)
    assert f"the destroy left 1 VPCs in eu-central-1: {vpc}" in down.stderr
    assert project.running() == []


def test_a_state_that_cannot_be_read_is_said_and_force_removes_it(project: Project) -> None:
    project.layout.folder.mkdir()
    project.layout.state.write_text("{")
    assert "down --force" in project.run("down", expect=3).stderr
    project.run("down", "--force")
    assert not project.layout.folder.exists()


def by_hand(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script in the environment that `python -m sandbox env` prints, from some other folder."""
    prefix = f'set -eu\neval "$({" ".join(map(repr, project.command("env", "shop-dev")))})"\ncd /\n'
    return subprocess.run(
        ["sh", "-c", prefix + script], cwd=CLONE, capture_output=True, text=True, timeout=120, check=False
    )


def test_plain_pulumi_in_the_printed_environment_is_the_sandboxs(project: Project) -> None:
    before = project.stack_file().read_bytes()
    project.run("up", "shop-dev")
    shown = by_hand(project, "pulumi preview --expect-no-changes && pulumi stack output parts")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "3 unchanged" in shown.stdout
    assert shown.stdout.endswith("2\n")
    project.stack_file().write_text("config:\n  fixture:parts: [one, two, three]\n")
    changed = by_hand(project, "pulumi up --yes --skip-preview --non-interactive")
    assert "+ 1 created" in changed.stdout
    assert project.stack_file().read_text() == "config:\n  fixture:parts: [one, two, three]\n"
    project.stack_file().write_bytes(before)


def test_what_pulumi_config_changes_by_hand_is_kept_and_said(project: Project) -> None:
    project.run("up", "shop-dev")
    before = project.stack_file().read_bytes()
    assert by_hand(project, "pulumi config set fixture:parts '[]'").returncode == 0
    said = project.run("preview", "shop-dev", "--expect-no-changes").stderr
    assert "was changed (`pulumi config set` and `--config` do that)" in said
    kept = list(project.layout.project.rglob("*.changed"))
    assert len(kept) == 1
    assert project.stack_file().read_bytes() == before
    assert "was changed" not in project.run("preview", "shop-dev").stderr


def test_a_stack_whose_file_names_another_secrets_provider_comes_up_and_keeps_it(project: Project) -> None:
    text = project.stack_file().read_text() + "secretsprovider: awskms://alias/x\nencryptedkey: QUJD\n"
    project.stack_file().write_text(text)
    project.run("up", "shop-dev")
    assert project.stack_file().read_text() == text
