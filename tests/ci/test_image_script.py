"""image.sh, which the image templates for GitLab and GitHub share."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.ci.scripts import Program, run

BUILDX = """case $1 in
create|rm) echo "$*" >>calls ;;
build) echo "$*" >>calls; cat "$DOCKER_CONFIG/config.json" >config
  while [ "$1" != --metadata-file ]; do shift; done
  [ -n "$FAIL" ] || printf '{"containerimage.digest": "sha256:%064d"}' 7 >"$2" ;;
imagetools) echo "$*" >>calls ;;
esac"""


pytestmark = pytest.mark.tools
PIPELINE = {"CI_SERVER_HOST": "gitlab.example.com", "CI_PIPELINE_ID": "41"}


def image(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"IMAGE": "registry.example.com/team/app", "PLATFORMS": "linux/amd64 linux/arm/v7", "TAGS": "1.0 latest"}
    return run(folder, "image.sh", *arguments, **{**own, "BUILDX": "buildx", **variables})


def test_buildx_pushes_by_digest_with_attestations_and_a_cache_per_architecture(
    tmp_path: Path, program: Program
) -> None:
    program("buildx", BUILDX)
    more = {
        "SBOM_IMAGE": "scan@sha256:1",
        "CACHE": "registry.example.com/cache",
        "BUILD_ARGS": "A=it's\nB=$HOME two",
        "TARGET": "final",
    }
    login = {"LOGIN": "variables", "REGISTRY_USER": "me", "REGISTRY_PASSWORD": "secret"}
    ran = image(tmp_path, "build", "linux/arm/v7", **more, **login)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "reports/digests/armv7").read_text().strip() == f"sha256:{7:064d}"
    create, build_, remove = (tmp_path / "calls").read_text().splitlines()
    assert "--platform linux/arm/v7" in build_
    assert "push-by-digest=true" in build_
    assert "--sbom=generator=scan@sha256:1 " in build_
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
    assert image(tmp_path, "tag", **PIPELINE).returncode == 0
    tagged, inspected = (tmp_path / "calls").read_text().splitlines()[-2:]
    place = "registry.example.com/team/app"
    both = " ".join([f"{place}@sha256:{7:064d}"] * 2)
    annotation = "--annotation index:multiarch-eks/pipeline=gitlab.example.com/41"
    assert tagged == f"imagetools create {annotation} --tag {place}:1.0 --tag {place}:latest {both}"
    assert inspected == f"imagetools inspect {place}:latest --format {{{{.Manifest.Digest}}}}"


@pytest.mark.parametrize(
    ("builder", "written", "tags"),
    [
        ("buildx", "gitlab.example.com/41", ["1.0", "latest"]),  # the job was run again
        ("buildx", "gitlab.example.com/100", ["1.0"]),
        ("buildah", "gitlab.example.com/100", ["1.0"]),
        ("buildah", "github.com/9000000000", ["1.0", "latest"]),
    ],
)
def test_a_tag_that_a_later_pipeline_has_written_stays(
    tmp_path: Path, program: Program, builder: str, written: str, tags: list[str]
) -> None:
    index = json.dumps({"annotations": {"multiarch-eks/pipeline": written}}, indent=2 if builder == "buildah" else None)
    read = f"""echo "$*" >>calls
case "$*" in *inspect*:1.0) echo "ERROR: 1.0: not found" >&2; exit 1 ;; *inspect*:latest) echo '{index}' ;; esac"""
    program(builder, read)
    (tmp_path / "reports/digests").mkdir(parents=True)
    (tmp_path / "reports/digests/amd64").write_text("sha256:1")
    settings = {"BUILDER": builder, "PLATFORMS": "linux/amd64"}
    ran = image(tmp_path, "tag", **settings, **PIPELINE)
    assert ran.returncode == 0, ran.stderr
    assert [tag for tag in ("1.0", "latest") if f"app:{tag}: linux/amd64" in ran.stderr] == tags
    assert ("app:latest stays as it is: a later pipeline, 100, has written it" in ran.stderr) == (tags == ["1.0"])
    wrote = [line for line in (tmp_path / "calls").read_text().splitlines() if "create -" in line or "push" in line]
    assert [tag for tag in ("1.0", "latest") if f"app:{tag}" in " ".join(wrote)] == tags


def test_nothing_is_tagged_while_the_tags_cannot_be_read(tmp_path: Path, program: Program) -> None:
    program("buildx", 'echo "$*" >>calls; echo "ERROR: connection refused" >&2; exit 1')
    (tmp_path / "reports/digests").mkdir(parents=True)
    (tmp_path / "reports/digests/amd64").write_text("sha256:1")
    ran = image(tmp_path, "tag", PLATFORMS="linux/amd64", **PIPELINE)
    assert (ran.returncode, "connection refused" in ran.stderr) == (2, True)
    assert "create" not in (tmp_path / "calls").read_text()


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
