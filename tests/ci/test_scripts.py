"""The scripts that the templates for GitLab and GitHub share."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import multiarch
from multiarch.facts.unknown_values import UNKNOWN_TEXT
from multiarch.review.previews import reading as previews
from tests.quotations import ROOT
from tools import build

SCRIPTS = ROOT / "ci" / "scripts"
SHELL = sorted(SCRIPTS.glob("*.sh"))

TOKEN = {"AWS_TOKEN": "jwt"}

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a shell script that stands in for a program, into ``bin``."""
    (tmp_path / "bin").mkdir()

    def write(name: str, text: str) -> Path:
        file = tmp_path / "bin" / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return file

    return write


def run(folder: Path, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / script, *arguments], cwd=folder, env=environment(folder, **variables), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def environment(folder: Path, **variables: str) -> dict[str, str]:
    own = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "CREDENTIALS_DIR": f"{folder}/secret"}
    return own | variables


@pytest.mark.tools
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


def test_jobs_that_run_the_engine_have_the_pinned_aws_cli(tmp_path: Path, program: Program) -> None:
    """The engine's plugins need it, and an image for Python has none."""
    program("pulumi", "")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (pinned,) = re.findall(r"^awscli==(.+)$", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)
    script = f'. "{SCRIPTS}/pulumi.sh" && aws --version'
    ran = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment(tmp_path, PATH=f"{tmp_path}/bin:/usr/bin:/bin"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.split(" ")[0] == f"aws-cli/{pinned}", ran.stderr


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


@pytest.mark.parametrize(("summary", "code"), [({"same": 4}, 0), ({"same": 3, "update": 1}, 1)])
def test_drift_is_what_a_refreshed_preview_would_change(
    tmp_path: Path, program: Program, summary: dict[str, int], code: int
) -> None:
    (tmp_path / "preview.json").write_text(json.dumps({"changeSummary": summary}))
    program("pulumi", 'echo "$*" >>calls; cat preview.json')
    program("multiarch", 'echo "digest"')
    ran = run(tmp_path, "drift.sh", "a-dev", "b-dev")
    assert ran.returncode == code, ran.stderr
    assert all("--refresh" in line for line in (tmp_path / "calls").read_text().splitlines())
    assert (tmp_path / "reports/drift.md").read_text() == "digest\n"


@pytest.mark.parametrize(("summary", "code"), [({"same": 4}, 3), ({"same": 3, "update": 1}, 4)])
def test_a_failed_preview_does_not_hide_the_drift_of_other_stacks(
    tmp_path: Path, program: Program, summary: dict[str, int], code: int
) -> None:
    (tmp_path / "preview.json").write_text(json.dumps({"changeSummary": summary}))
    program("pulumi", '[ "$3" = a-dev ] || { echo \'{"changeSummary": {"update": 1}}\'; exit 255; }; cat preview.json')
    program("multiarch", "echo digest; exit 1")
    assert run(tmp_path, "drift.sh", "a-dev", "b-dev").returncode == code
    assert (tmp_path / "reports/drift.md").read_text() == "digest\n"
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


BUILDX = """case $1 in
create|rm) echo "$*" >>calls ;;
build) echo "$*" >>calls; cat "$DOCKER_CONFIG/config.json" >config
  while [ "$1" != --metadata-file ]; do shift; done
  [ -n "$FAIL" ] || printf '{"containerimage.digest": "sha256:%064d"}' 7 >"$2" ;;
imagetools) echo "$*" >>calls ;;
esac"""


def image(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"IMAGE": "registry.example.com/team/app", "PLATFORMS": "linux/amd64 linux/arm/v7", "TAGS": "1.0 latest"}
    return run(folder, "image.sh", *arguments, **{**own, "BUILDX": "buildx", **variables})


def test_buildx_pushes_by_digest_with_attestations_and_a_cache_per_architecture(
    tmp_path: Path, program: Program
) -> None:
    program("buildx", BUILDX)
    more = {"CACHE": "registry.example.com/cache", "BUILD_ARGS": "A=it's\nB=$HOME two", "TARGET": "final"}
    login = {"LOGIN": "variables", "REGISTRY_USER": "me", "REGISTRY_PASSWORD": "secret"}
    ran = image(tmp_path, "build", "linux/arm/v7", **more, **login)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "reports/digests/armv7").read_text().strip() == f"sha256:{7:064d}"
    create, build_, remove = (tmp_path / "calls").read_text().splitlines()
    assert "--platform linux/arm/v7" in build_
    assert "push-by-digest=true" in build_
    assert "--sbom=true" in build_
    assert "--provenance=mode=max" in build_
    assert "--cache-from type=registry,ref=registry.example.com/cache:cache-armv7" in build_
    assert "--build-arg A=it's --build-arg B=$HOME two --target final" in build_
    assert create.split()[0:2] + remove.split()[0:1] == ["create", "--name", "rm"]
    auths = json.loads((tmp_path / "config").read_text())["auths"]
    assert auths == {"registry.example.com": {"auth": "bWU6c2VjcmV0"}}
    assert not (tmp_path / "secret").exists()


def test_an_owner_with_capitals_has_images_too(tmp_path: Path, program: Program) -> None:
    program("buildx", BUILDX)
    named = {"IMAGE": "ghcr.io/Team/App", "CACHE": "ghcr.io/Team/App", "PLATFORMS": "linux/amd64", "TAGS": "RC1"}
    assert image(tmp_path, "build", "linux/amd64", **named).returncode == 0
    assert image(tmp_path, "tag", **named).returncode == 0
    calls = (tmp_path / "calls").read_text()
    assert "Team" not in calls
    assert "--tag ghcr.io/team/app:RC1" in calls
    assert "ref=ghcr.io/team/app:cache-amd64" in calls


def test_nothing_is_tagged_before_all_platforms_have_a_digest(tmp_path: Path, program: Program) -> None:
    program("buildx", BUILDX)
    assert image(tmp_path, "build", "linux/amd64").returncode == 0
    ran = image(tmp_path, "tag")
    assert (ran.returncode, "linux/arm/v7 was not built: nothing is tagged" in ran.stderr) == (2, True)
    assert image(tmp_path, "build", "linux/arm/v7", FAIL="1").returncode != 0
    assert image(tmp_path, "tag").returncode == 2
    assert image(tmp_path, "build", "linux/arm/v7").returncode == 0
    assert image(tmp_path, "tag").returncode == 0
    tagged, inspected = (tmp_path / "calls").read_text().splitlines()[-2:]
    place = "registry.example.com/team/app"
    both = " ".join([f"{place}@sha256:{7:064d}"] * 2)
    assert tagged == f"imagetools create --tag {place}:1.0 --tag {place}:latest {both}"
    assert inspected == f"imagetools inspect {place}:1.0 --format {{{{.Manifest.Digest}}}}"


@pytest.mark.parametrize("wrong", ["linux/amd64", "linux/arm64"])
def test_one_platform_with_wrong_binaries_fails_the_verification_of_all(
    tmp_path: Path, program: Program, wrong: str
) -> None:
    """Whichever comes last: a platform that passes must not hide the one before it."""
    (tmp_path / "reports/digests").mkdir(parents=True)
    for name in ("amd64", "arm64"):
        (tmp_path / "reports/digests" / name).write_text(f"sha256:{name}")
    program("multiarch", f'echo "$*" >>calls; case "$*" in *{wrong}*) exit 1 ;; esac')
    both = {"PLATFORMS": "linux/amd64 linux/arm64", "MULTIARCH": "multiarch"}
    assert image(tmp_path, "verify", **both).returncode == 1
    assert len((tmp_path / "calls").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"BUILDER": "buildah"}, "buildah writes no attestations"),
        ({"BUILDER": "kaniko"}, "it must be buildx or buildah"),
        ({"LOGIN": "variables"}, "REGISTRY_USER is not set"),
        ({"LOGIN": "ecr"}, "registry.example.com is not a registry of Amazon ECR"),
        ({"EMULATE": "true"}, "QEMU_IMAGE is not set"),
        ({"PLATFORMS": "linux/arm64"}, "linux/amd64 is not one of PLATFORMS"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, program: Program, variables: dict[str, str], said: str) -> None:
    program("buildx", BUILDX)
    ran = image(tmp_path, "build", "linux/amd64", **variables)
    assert (ran.returncode, said in ran.stderr) == (2, True), ran.stderr


def test_ecr_gets_its_password_by_the_role_of_the_job(tmp_path: Path, program: Program) -> None:
    program("buildx", BUILDX)
    program("aws", 'echo "$AWS_ROLE_ARN $*" >aws; cat "$AWS_WEB_IDENTITY_TOKEN_FILE" >>aws; echo from-ecr')
    place = "111122223333.dkr.ecr.eu-west-1.amazonaws.com"
    settings = {"IMAGE": f"{place}/app", "LOGIN": "ecr", "AWS_ROLE": "arn:push", "AWS_TOKEN": "jwt"}
    ran = image(tmp_path, "build", "linux/amd64", **settings)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "aws").read_text() == "arn:push ecr get-login-password --region eu-west-1\njwt"
    assert json.loads((tmp_path / "config").read_text())["auths"] == {place: {"auth": "QVdTOmZyb20tZWNy"}}
    assert "from-ecr" not in ran.stdout + ran.stderr
