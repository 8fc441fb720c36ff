"""The scripts that the templates for GitLab and GitHub share."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import multiarch
from multiarch.facts.unknown_values import UNKNOWN_TEXT
from multiarch.review.previews import reading as previews
from tests.ci.scripts import SCRIPTS, Program, environment, run
from tools import build

SHELL = sorted(SCRIPTS.glob("*.sh"))

TOKEN = {"AWS_TOKEN": "jwt"}
pytestmark = pytest.mark.tools


def test_shellcheck_finds_nothing() -> None:
    tool = build.ensure("shellcheck")
    done = subprocess.run(
        [tool, "-x", "-P", str(SCRIPTS), *SHELL], env=os.environ | {"LD_LIBRARY_PATH": str(tool.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("script", SHELL, ids=lambda file: file.name)
def test_a_script_is_for_every_shell_and_executable_unless_it_is_sourced(script: Path) -> None:
    first = script.read_text().splitlines()[0]
    assert first == ("#!/bin/sh" if script.stat().st_mode & 0o111 else "# shellcheck shell=sh")


def test_jobs_that_run_the_engine_have_the_aws_cli(tmp_path: Path, program: Program) -> None:
    """The engine's plugins need it, and an image for Python has none."""
    program("pulumi", "")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    script = f'. "{SCRIPTS}/pulumi.sh" && command -v aws'
    ran = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment(tmp_path, PATH=f"{tmp_path}/bin:/usr/bin:/bin"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert Path(ran.stdout.strip()).resolve() == Path(sys.prefix, "bin", "aws").resolve(), ran.stderr


def test_previews_run_side_by_side_within_the_bound(tmp_path: Path, program: Program) -> None:
    (tmp_path / "running").mkdir()
    program("pulumi", ': >running/$3; sleep 0.4; ls running | wc -l >>most; rm running/$3; echo "{}"')
    names = [f"team{number}-dev" for number in range(6)]
    ran = run(tmp_path, "preview.sh", *names, JOBS="3")
    assert ran.returncode == 0, ran.stderr
    assert sorted((tmp_path / "reports/previews").glob("*.json")) == [
        tmp_path / f"reports/previews/{name}.json" for name in names
    ]
    assert 1 < max(map(int, (tmp_path / "most").read_text().split())) <= 3


def test_a_preview_that_fails_at_once_is_in_the_digest_with_what_was_said(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'echo "error: no credentials" >&2; exit 255')
    assert run(tmp_path, "preview.sh", "checkout-dev").returncode == 1
    file = tmp_path / "reports/previews/checkout-dev.json"
    (preview,) = previews.read_previews(file.read_bytes(), str(file))
    assert (preview.stack, preview.succeeded, preview.errors) == ("checkout-dev", False, ("no credentials",))


def test_a_preview_that_is_killed_or_never_begun_has_failed_and_the_others_are_kept(
    tmp_path: Path, program: Program
) -> None:
    """By the kernel, for want of memory: first the engine, then what runs the previews."""
    killed = {"b-dev": "kill -KILL $$", "c-dev": "kill -KILL $(ps -o ppid= -p $PPID) $$"}
    cases = "".join(f"{name}) echo '{{\"steps\": ['; {action} ;; " for name, action in killed.items())
    program("pulumi", f'case $3 in {cases} esac; echo "{{}}"')
    ran = run(tmp_path, "preview.sh", "a-dev", "b-dev", "c-dev", "d-dev", JOBS="1")
    assert ran.returncode == 1
    assert "3 of 4 previews failed" in ran.stderr
    read = [tmp_path / f"reports/previews/{name}-dev.json" for name in "bcd"]
    (b, c, d) = [preview for file in read for preview in previews.read_previews(file.read_bytes(), str(file))]
    assert [each.stack for each in (b, c, d)] == ["b-dev", "c-dev", "d-dev"]
    assert [each.succeeded for each in (b, c, d)] == [False] * 3
    assert d.errors == ("The preview failed, and said nothing.",)
    assert (tmp_path / "reports/previews/a-dev.json").read_text() == "{}\n"


def test_a_new_stack_is_previewed_in_a_backend_of_its_own_and_its_file_stays_as_it_is(
    tmp_path: Path, program: Program
) -> None:
    (tmp_path / "config/stacks").mkdir(parents=True)
    file = tmp_path / "config/stacks/Pulumi.a-dev.yaml"
    file.write_text("config: {}\n")
    init = (
        'case "$PULUMI_BACKEND_URL" in file://*/secret/new-a-dev) echo "salt: 1" >>config/stacks/Pulumi.$3.yaml ;; esac'
    )
    fails = """{ echo "error: no stack named '$3' found" >&2; exit 6; }"""
    program("pulumi", f'if [ "$1" = stack ]; then {init}; else [ -d secret/new-$3 ] || {fails}; echo "{{}}"; fi')
    ran = run(tmp_path, "preview.sh", "a-dev")
    assert (ran.returncode, ran.stderr) == (0, "a-dev: previewed as a new stack\n")
    assert file.read_text() == "config: {}\n"
    assert not (tmp_path / "secret").exists()


def test_a_review_reads_the_event_log_unless_the_preview_failed(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'echo "{}" >"${6}"; echo "{}"; [ "$3" != b-dev ]')
    assert run(tmp_path, "preview.sh", "a-dev", "b-dev").returncode == 1
    program("multiarch", 'echo "$*" >>calls')
    ran = run(tmp_path, "review.sh", SINCE="main", MULTIARCH="multiarch")
    assert ran.returncode == 0, ran.stderr
    (call, _) = (tmp_path / "calls").read_text().splitlines()
    assert call.endswith("reports/previews/a-dev.events reports/previews/b-dev.json")


@pytest.mark.parametrize(("names", "only_update"), [(("a-dev", "b-dev", "gone-dev"), ""), ((), " --only-update")])
def test_what_happens_to_nodes_is_written_and_posted(
    tmp_path: Path, program: Program, names: tuple[str, ...], only_update: str
) -> None:
    (tmp_path / "config/stacks").mkdir(parents=True)
    for name in names[:2]:
        (tmp_path / f"config/stacks/Pulumi.{name}.yaml").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    answers = 'a-dev) echo "web rolls"; exit 1 ;; b-dev) exit 2 ;;'
    listed = "".join(f"echo {name}; " for name in names)
    program("multiarch", f'echo "$*" >>calls; case $2 in affected) {listed} exit ;; esac; case $3 in {answers} esac')
    ran = run(tmp_path, "stack-diff.sh", SINCE="main", MULTIARCH="multiarch", POST="gitlab")
    assert ran.returncode == 0, ran.stderr
    b = "b-dev can't be compared with main: the job's log says why."
    assert ran.stdout == (f"web rolls\n\n{b}\n\n" if names else "The change touches no stack.\n")
    _, *diffs, post = (tmp_path / "calls").read_text().splitlines()
    assert diffs == [f"stack diff {name} --against main --output markdown" for name in names[:2]]
    assert post == f"post comment reports/stack-diff.md --name stack-diff --to gitlab{only_update}"


def test_prices_are_fetched_once_for_each_region_and_given_to_the_review(tmp_path: Path, program: Program) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/affected.txt").write_text("a-dev\nb-dev\nc-dev\n")
    regions = {"a-dev": "eu-west-1", "b-dev": "eu-west-1", "c-dev": None, "other": "us-east-1"}
    stacks = json.dumps({"stacks": [{"stack": name, "region": region} for name, region in regions.items()]})
    answer = f"if [ $1 = stack ]; then echo '{stacks}'; exit 1; fi"
    fetched = "mkdir -p .cache; echo '{}' >.cache/prices.json"
    program("multiarch", f'echo "$* $AWS_ROLE_ARN" >>calls; {answer}; {fetched}')
    ran = run(tmp_path, "prices.sh", MULTIARCH="multiarch", PREVIEW_ROLE="arn:a", **TOKEN)
    assert (ran.returncode, ran.stderr) == (0, "")
    (_, call) = (tmp_path / "calls").read_text().splitlines()
    assert call == "prices fetch --region eu-west-1 --max-age 24 --file .cache/prices.json arn:a"
    assert not (tmp_path / "secret").exists()
    assert run(tmp_path, "review.sh", SINCE="main", MULTIARCH="multiarch").returncode == 0
    assert "--prices .cache/prices.json" in (tmp_path / "calls").read_text().splitlines()[-1]


def test_each_stack_has_its_own_role_if_there_is_one(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'echo "$3 $AWS_ROLE_ARN $(cat "$AWS_WEB_IDENTITY_TOKEN_FILE")" >>calls; echo "{}"')
    roles = {"PREVIEW_ROLE": "arn:ci-{environment}", "PREVIEW_ROLE_PAY_PROD": "arn:pay"}
    ran = run(tmp_path, "preview.sh", "a-dev", "pay-prod", JOBS="1", **TOKEN, **roles)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "calls").read_text().splitlines() == ["a-dev arn:ci-dev jwt", "pay-prod arn:pay jwt"]
    assert not (tmp_path / "secret").exists()


def test_credentials_can_be_read_by_the_job_alone(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'ls -ln "$CREDENTIALS_DIR" >&2; stat -c "%a %n" "$CREDENTIALS_DIR" "$CREDENTIALS_DIR"/* >modes')
    ran = run(tmp_path, "update.sh", "plan", "a-dev", PREVIEW_ROLE="arn:a", **TOKEN)
    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in (tmp_path / "modes").read_text().splitlines()] == ["700", "600"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_job_ends_its_program_and_leaves_no_credentials(
    tmp_path: Path, program: Program, number: signal.Signals
) -> None:
    program("pulumi", 'trap "echo stopped >stopped; kill \\$!; exit 1" TERM; sleep 120 & : >started; wait $!')
    variables = environment(tmp_path, PREVIEW_ROLE="arn:a", **TOKEN)
    command = [str(SCRIPTS / "update.sh"), "plan", "a-dev"]
    # A new process ignores what this one ignores: SIGHUP below nohup, for example.
    before = signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE)
    signal.signal(number, before)
    with process:
        until = time.monotonic() + 30
        while not (tmp_path / "started").exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o700
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert (tmp_path / "stopped").exists()
    assert not (tmp_path / "secret").exists()


def test_an_update_follows_the_plan_that_was_shown(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'echo "$PULUMI_EXPERIMENTAL $*" >>calls; [ "$1" = up ] || echo "{}" >reports/plan-a-dev.json')
    assert run(tmp_path, "update.sh", "plan", "a-dev").returncode == 0
    assert run(tmp_path, "update.sh", "up", "a-dev").returncode == 0
    preview, up = (tmp_path / "calls").read_text().splitlines()
    assert "true preview" in preview
    assert "--save-plan reports/plan-a-dev.json" in preview
    assert "--yes --skip-preview --plan reports/plan-a-dev.json" in up


def test_a_plan_takes_any_number_that_the_program_ignores_and_nothing_else(tmp_path: Path, program: Program) -> None:
    sizes: dict[str, object] = {"desiredSize": 2, "maxSize": 9}
    ignored = ["scalingConfig.desiredSize", "version", "taints[0].value"]
    updates = {"scalingConfig": sizes, "version": "1.35", "taints": [1]}
    goal = {"ignoreChanges": ignored, "inputDiff": {"updates": updates}}
    created = {"ignoreChanges": ignored, "inputDiff": {"adds": {"scalingConfig": {"desiredSize": 2}}}}
    resources = {"group": {"goal": goal}, "new": {"goal": created}, "gone": {"steps": []}}
    plan = {"config": {"a": 1}, "resourcePlans": resources}
    (tmp_path / "made.json").write_text(json.dumps(plan))
    program("pulumi", "cp made.json reports/plan-a-dev.json")
    ran = run(tmp_path, "update.sh", "plan", "a-dev")
    assert (ran.returncode, ran.stderr) == (0, "note: the update takes any value of group scalingConfig.desiredSize\n")
    updates["scalingConfig"] = sizes | {"desiredSize": UNKNOWN_TEXT}
    assert json.loads((tmp_path / "reports/plan-a-dev.json").read_text()) == plan


def test_an_update_without_its_plan_is_rejected_unless_plans_are_off(tmp_path: Path, program: Program) -> None:
    program("pulumi", 'echo "$PULUMI_EXPERIMENTAL $*" >>calls')
    ran = run(tmp_path, "update.sh", "up", "a-dev")
    assert (ran.returncode, "there is no plan of a-dev" in ran.stderr) == (2, True)
    assert run(tmp_path, "update.sh", "up", "a-dev", CONSTRAIN="false ").returncode == 0
    call = (tmp_path / "calls").read_text()
    assert "--plan" not in call
    assert call.startswith(" up")  # nothing experimental at all


def test_a_name_that_is_not_a_stack_is_rejected(tmp_path: Path) -> None:
    for name in ("a;b", "--help", "../a", "A-dev", ""):
        ran = run(tmp_path, "update.sh", "up", name)
        assert (ran.returncode, "is not a stack's name" in ran.stderr) == (2, True)


@pytest.mark.parametrize(
    ("summary", "fails", "code"),
    [
        ({"same": 4}, "", 0),
        ({"same": 3, "update": 1}, "", 1),
        ({"same": 4}, "b-dev", 3),
        ({"same": 3, "update": 1}, "b-dev", 4),
    ],
)
def test_drift_is_what_a_refreshed_preview_would_change_and_a_failed_one_hides_no_other(
    tmp_path: Path, program: Program, summary: dict[str, int], fails: str, code: int
) -> None:
    (tmp_path / "preview.json").write_text(json.dumps({"changeSummary": summary}))
    failure = """{ echo '{"changeSummary": {"update": 1}}'; exit 255; }"""
    program("pulumi", f'echo "$*" >>calls; [ "$3" != "{fails}" ] || {failure}; cat preview.json')
    program("multiarch", f"echo digest; exit {1 if fails else 0}")
    ran = run(tmp_path, "drift.sh", "a-dev", "b-dev")
    assert ran.returncode == code, ran.stderr
    assert all("--refresh" in line for line in (tmp_path / "calls").read_text().splitlines())
    assert (tmp_path / "reports/drift.md").read_text() == "digest\n"
    if code == 4:
        program("multiarch", "exit 2")  # what it says is of no use
        assert run(tmp_path, "drift.sh", "a-dev", "b-dev").returncode == 3


def test_an_audit_keeps_its_report_and_its_exit_code(tmp_path: Path, program: Program) -> None:
    program("multiarch", 'echo "$*"; exit 1')
    ran = run(tmp_path, "audit.sh", "nodes", "a-dev", AUDIT_ARGS="--no-ssm")
    assert ran.returncode == 1
    assert (tmp_path / "reports/nodes.md").read_text() == "verify nodes a-dev --output markdown --no-ssm\n"
    assert run(tmp_path, "audit.sh", "nodes").returncode == 2


def test_an_audit_of_a_cluster_that_cannot_be_read_has_no_findings(tmp_path: Path, program: Program) -> None:
    """Python's exit code for an exception is 1, that of findings."""
    program("multiarch", "exit 0")
    python = program("python", 'echo "AccessDenied" >&2; exit 1')
    ran = run(tmp_path, "audit.sh", "nodes", CLUSTER="shop", AWS_REGION="eu-west-1", PYTHON=str(python))
    assert (ran.returncode, "the kubeconfig of shop in eu-west-1 can't be written" in ran.stderr) == (2, True)
    assert not (tmp_path / "secret").exists()


def test_the_installed_command_takes_no_modules_from_the_folder_it_runs_in(tmp_path: Path, program: Program) -> None:
    """A repository may have a yaml.py, or a folder with the command's own name."""
    python = program("python", f'[ "$2" = pip ] || exec {sys.executable} "$@"')
    program("python3", f"mkdir -p $3/bin; ln -s {python} $3/bin/python")
    for name in ("yaml.py", "multiarch.py"):
        (tmp_path / name).write_text("raise SystemExit('taken from the checkout')\n")
    ran = run(tmp_path, "install-cli.sh")
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, multiarch.__version__, "")


def test_a_summary_of_many_long_reports_stays_below_the_services_limit(tmp_path: Path) -> None:
    names = [f"preview-{number}.txt" for number in range(20)]
    for name in names:
        (tmp_path / name).write_text(f"begin {name}\n" + "+ a line with an é at its end é\n" * 5_000)
    summary = tmp_path / "summary"
    ran = run(tmp_path, "github-summary.sh", "What the update will do", *names, GITHUB_STEP_SUMMARY=str(summary))
    assert (ran.returncode, ran.stderr) == (0, "")
    text = summary.read_text()  # no character is cut
    assert len(text.encode()) < 1_048_576
    assert [name for name in names if f"begin {name}\n" not in text] == []
    assert text.count("The rest is in the artifact.") == len(names)
    assert {line for line in text.splitlines() if line.startswith("+")} == {"+ a line with an é at its end é"}


def test_an_issue_is_opened_for_findings_closed_without_and_left_alone_after_a_failure(
    tmp_path: Path, program: Program
) -> None:
    program("multiarch", 'echo "$*" >>calls')
    codes = [run(tmp_path, "issue.sh", code, "drift", "Drift of stacks", "drift.md").returncode for code in "0134"]
    assert codes == [0, 0, 3, 4]
    assert (tmp_path / "calls").read_text().splitlines() == [
        "post issue --close --name drift",
        "post issue drift.md --name drift --title Drift of stacks",
        "post issue drift.md --name drift --title Drift of stacks",
    ]
