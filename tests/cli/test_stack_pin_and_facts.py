"""``stack pin`` and ``facts refresh`` query AWS, here the sandbox's, through boto3."""

from __future__ import annotations

import difflib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.facts.instance_types import DATA_FILE, read_csv
from tests.cli.aws import served
from tests.cli.running import type_of_run
from tests.sandbox.served import Served
from tests.verify.clusters import environment

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as url:
        yield url


@pytest.fixture
def aws(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Point boto3 at the sandbox, with nothing of the user's own."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(Served(address), tmp_path).items():
        monkeypatch.setenv(name, value)


def stack_file(clone: Path, stack: str) -> Path:
    return clone / "config" / "stacks" / f"Pulumi.{stack}.yaml"


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("stack", ["gke-parity", "payments-prod"])
def test_a_pinned_stack_is_the_same_file_with_lines_added(clone: Path, run: type_of_run, stack: str) -> None:
    file = stack_file(clone, stack)
    before = file.read_text().splitlines()
    ran = run("stack", "pin", stack)
    assert ran.code == 0, ran.err
    assert "run `pulumi up` with this one first" in ran.err
    marks = {line[0] for line in difflib.ndiff(before, file.read_text().splitlines())}
    assert marks == {" ", "+"}
    checked = run("stack", "check", stack)
    assert checked.code == 0, checked.err
    assert "ami-not-pinned" not in checked.err
    assert run("stack", "pin", stack).err.endswith("is pinned; nothing was written.\n")


@pytest.mark.usefixtures("aws")
def test_a_dry_run_writes_nothing(clone: Path, run: type_of_run) -> None:
    before = stack_file(clone, "gke-parity").read_bytes()
    ran = run("stack", "pin", "gke-parity", "--dry-run")
    assert ran.code == 0
    assert "multiArchitectureGroups.either.ami.arm64.id" in ran.out
    assert "11 values would be written" in ran.err
    assert stack_file(clone, "gke-parity").read_bytes() == before


EXTRA = """
  multiarch-eks:addons:
    extra:
      aws-efs-csi-driver:
        configurationValues: {controller: {replicaCount: 2}}
      aws-privateca-connector-for-kubernetes:
        policies: [arn:aws:iam::aws:policy/AWSPrivateCAConnectorForKubernetesPolicy]
      metrics-server: {}
"""


@pytest.mark.usefixtures("aws")
def test_add_ons_get_versions_a_schema_and_what_only_eks_knows_of_them(clone: Path, run: type_of_run) -> None:
    file = stack_file(clone, "checkout-dev")
    schema = "config/stacks/addon-schemas/aws-efs-csi-driver_v3.4.1-eksbuild.1.json"
    file.write_text(file.read_text() + EXTRA)
    assert "addon-service-account" in run("stack", "check", "checkout-dev").err
    assert f"The schema of an add-on's configurationValues would be written to {schema}." in (
        run("stack", "pin", "checkout-dev", "--dry-run").err
    )
    assert not (clone / schema).exists()
    ran = run("stack", "pin", "checkout-dev", "-o", "json")
    assert ran.code == 0, ran.err
    written = {each["key"]: each["new"] for each in ran.json["changes"] if "extra" in each["key"]}
    connector = "addons.extra.aws-privateca-connector-for-kubernetes"
    assert written == {
        "addons.extra.aws-efs-csi-driver.version": "v3.4.1-eksbuild.1",
        f"{connector}.version": "v1.6.0-eksbuild.1",
        "addons.extra.metrics-server.version": "v0.8.0-eksbuild.1",
        f"{connector}.serviceAccount": "aws-privateca-issuer",
        f"{connector}.namespace": "aws-privateca-issuer",
    }
    assert ran.json["schemas"] == [schema]
    assert json.loads((clone / schema).read_text())["$schema"].endswith("2019-09/schema")
    checked = run("stack", "check", "checkout-dev")
    assert checked.code == 0, checked.err
    assert "addon-not-checked" not in checked.err
    assert run("stack", "pin", "checkout-dev").err.endswith("is pinned; nothing was written.\n")
    file.write_text(file.read_text().replace("replicaCount", "replicaCounts"))
    assert "no key replicaCounts here. Did you mean replicaCount?" in run("stack", "check", "checkout-dev").err
    # A version that is gone, or values for the next one, do not keep an upgrade from working.
    assert run("stack", "pin", "checkout-dev", "--upgrade").code == 0


@pytest.mark.usefixtures("aws")
def test_the_files_line_ends_and_mode_stay(clone: Path, run: type_of_run) -> None:
    file = stack_file(clone, "checkout-dev")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    file.chmod(0o600)
    assert run("stack", "pin", "checkout-dev").code == 0
    data = file.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("aws", "clone")
def test_missing_credentials_exit_with_3_and_the_fix(monkeypatch: pytest.MonkeyPatch, run: type_of_run) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    ran = run("stack", "pin", "checkout-dev")
    assert (ran.code, ran.out) == (3, "")
    assert "Log in as for the AWS CLI" in ran.err


@pytest.mark.usefixtures("aws", "clone")
def test_an_aws_out_of_reach_exits_with_3(monkeypatch: pytest.MonkeyPatch, run: type_of_run) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        ran = run("stack", "pin", "checkout-dev")
    assert ran.code == 3
    assert "Can't reach AWS" in ran.err


@pytest.mark.usefixtures("aws")
def test_a_rejection_of_aws_exits_with_3_and_names_the_call(clone: Path, run: type_of_run) -> None:
    file = stack_file(clone, "legacy-al2")
    file.write_text(file.read_text().replace("[m7i.large]", "[m7i.large]\n      ami: {id: ami-00000000000000001}", 1))
    ran = run("stack", "pin", "legacy-al2", "--upgrade")
    assert ran.code == 3
    assert "AWS rejected DescribeImages (InvalidAMIID.NotFound)" in ran.err


@pytest.mark.usefixtures("aws")
def test_facts_are_rebuilt_from_what_the_region_offers(tmp_path: Path, run: type_of_run) -> None:
    table = tmp_path / "instance_types.csv"
    table.write_bytes(DATA_FILE.read_bytes().replace(b"\nm7g.large,arm64,", b"\nm7g.large,amd64,"))
    ran = run("facts", "refresh", "--region", "us-east-1", "--file", str(table), "-o", "json")
    assert ran.code == 0, ran.err
    assert (ran.json["kind"], ran.json["changed"], ran.json["added"]) == ("facts-refresh", ["m7g.large"], [])
    assert dict(read_csv(table)) == dict(read_csv(DATA_FILE))
