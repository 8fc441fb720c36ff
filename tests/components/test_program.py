"""The Pulumi program, from the engine's configuration to the exports, with Pulumi's mocks in the engine's place."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Mapping
from contextvars import copy_context
from pathlib import Path

import pulumi
import pytest
from pulumi.runtime import config
from pulumi.runtime.settings import Settings
from pulumi.runtime.stack import run_in_stack

from components.iam.access import reject_missing_aws_cli
from components.rendering import marked_values
from components.rendering.marked_values import Properties, Where
from components.rendering.recording import Recorder

PROGRAM = Path(__file__).parents[2] / "__main__.py"
WORDS: Mapping[str, str] = {
    "aws:region": "eu-west-1",
    "multiarch-eks:team": "shop",
    "multiarch-eks:environment": "dev",
    "multiarch-eks:owner": "shop@example.com",
    "multiarch-eks:costCenter": "4711",
    "multiarch-eks:nodeGroups": json.dumps({"web": {"instanceTypes": ["m7i.large"]}}),
}


def program() -> None:
    runpy.run_path(str(PROGRAM))


def run(words: Mapping[str, str], *, preview: bool = True) -> Recorder:
    """Run ``__main__.py`` as the language host does."""

    def inside() -> Recorder:
        recorder = Recorder(Where.of("eu-west-1"))
        Settings(project="multiarch-eks", stack="shop-dev", monitor=recorder, dry_run=preview)
        config.set_all_config(dict(words))
        asyncio.run(run_in_stack(program))
        return recorder

    return copy_context().run(inside)


@pytest.fixture(autouse=True)
def _no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


CREATOR = "arn:aws:iam::111122223333:role/RENDERED"


def test_the_program_exports_what_people_need(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = run({**WORDS, "multiarch-eks:access": json.dumps({"readers": [CREATOR]})})
    assert set(recorder.outputs) == {
        "cluster",
        "kubeconfig",
        "nodeGroups",
        "sessionPolicy",
        "sessions",
        "warnings",
    }
    told = capsys.readouterr().err
    assert "warning: " in told
    # Without credentials, and so where eks:DescribeCluster is not allowed.
    assert "clusterName: what exists of shop-dev in AWS could not be read: Can't get AWS credentials" in told
    assert "[cluster-not-read]" in told
    # A preview warns: another role may create the cluster.
    assert "`pulumi up` by this role or user is rejected. [creator-in-access]" in told


def test_a_rejected_stack_ends_with_every_problem_and_nothing_declared(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {"web": {"instanceTypes": ["m7i.large", "m7g.large"]}, "b": {"instanceTypes": ["m7i.lrage"]}}
    groups["unpinned"] = {"instanceTypes": ["m7i.large"]}
    decided = {"multiarch-eks:acknowledge": json.dumps({"ami-not-pinned": "a test"})}
    with pytest.raises(pulumi.RunError, match="shop-dev is rejected"):
        run({**WORDS, **decided, "multiarch-eks:nodeGroups": json.dumps(groups)})
    said = capsys.readouterr().err
    assert "warning: " not in said
    assert "Acknowledged: a test [ami-not-pinned]" in said
    assert "nodeGroups.web.instanceTypes" in said
    assert "m7i.lrage" in said


def test_without_the_aws_cli_on_the_engines_path_nothing_is_declared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The language host puts the virtual environment's programs before the PATH that engine and plugins have."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "aws").touch(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{tmp_path}/bin")
    reject_missing_aws_cli()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/none")
    with pytest.raises(pulumi.RunError, match=r"`aws` is not on PATH.* Install the AWS CLI"):
        run(WORDS)


def test_a_creator_in_access_is_rejected_before_anything_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    access = {"admins": ["arn:aws:iam::111122223333:role/other"], "readers": [CREATOR]}
    with pytest.raises(pulumi.RunError, match="shop-dev is rejected"):
        run({**WORDS, "multiarch-eks:access": json.dumps(access)}, preview=False)
    assert (
        f"access.readers[0]: {CREATOR} runs Pulumi; whoever creates the cluster is its admin" in capsys.readouterr().err
    )


def test_once_the_cluster_exists_anybody_in_access_may_run_the_program_and_the_kubeconfig_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = marked_values.call

    def with_the_cluster(token: str, args: Properties, where: Where) -> dict[str, object]:
        return {"names": ["shop-dev"]} if token.endswith("getClusters") else answer(token, args, where)

    monkeypatch.setattr(marked_values, "call", with_the_cluster)
    role = "arn:aws:iam::111122223333:role/deployer"
    identity = {"aws:profile": "deploy", "aws:assumeRoles": json.dumps([{"roleArn": role}])}
    own = {"multiarch-eks:storageClass": "true", "multiarch-eks:access": json.dumps({"admins": [CREATOR]})}
    recorder = run({**WORDS, **identity, **own})
    (provider,) = (each for each in recorder.recorded() if each.type == "pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == recorder.outputs["kubeconfig"]
    (user,) = json.loads(str(recorder.outputs["kubeconfig"]))["users"]
    arguments = user["user"]["exec"]["args"]
    assert arguments[arguments.index("--profile") + 1] == "deploy"
    assert arguments[arguments.index("--role-arn") + 1] == role
    # --profile is an option of aws, --role-arn one of get-token.
    assert arguments.index("--profile") < arguments.index("get-token") < arguments.index("--role-arn")


def test_a_day_that_is_none_is_said_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(pulumi.RunError, match=r"Invalid SOURCE_DATE_EPOCH '.*Set it to seconds"):
        run(WORDS)
