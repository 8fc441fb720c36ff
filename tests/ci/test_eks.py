"""Tokens and kubeconfigs for EKS without the AWS CLI."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from ci.scripts import eks


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


def test_a_token_is_a_request_to_sts_that_names_the_cluster() -> None:
    made = eks.token("shop-prod", "eu-west-1")
    scheme, _, text = made["status"]["token"].partition(".")
    assert (scheme, "=" in text) == ("k8s-aws-v1", False)
    url = urlsplit(base64.urlsafe_b64decode(text + "==").decode())
    query = parse_qs(url.query)
    assert url.netloc == "sts.eu-west-1.amazonaws.com"
    assert (query["Action"], query["X-Amz-Expires"]) == (["GetCallerIdentity"], ["60"])
    assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    until = datetime.fromisoformat(made["status"]["expirationTimestamp"])
    assert timedelta(minutes=13) < until - datetime.now(UTC) < timedelta(minutes=15)


def test_a_kubeconfig_runs_this_script_for_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto3.client("eks", region_name="eu-west-1")
    answer = {"cluster": {"endpoint": "https://example.eks.amazonaws.com", "certificateAuthority": {"data": "Q0E="}}}
    with Stubber(client) as stub:
        stub.add_response("describe_cluster", answer, {"name": "shop-prod"})
        monkeypatch.setattr(boto3, "client", lambda _service, **_options: client)
        made = eks.kubeconfig("shop-prod", "eu-west-1")
    assert made["clusters"][0]["cluster"]["server"] == "https://example.eks.amazonaws.com"
    plugin = made["users"][0]["user"]["exec"]
    assert plugin["args"][1:] == ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "shop-prod"]
    assert made["current-context"] == made["contexts"][0]["name"] == "shop-prod"


@pytest.mark.parametrize(
    ("words", "role"),
    [
        # As `aws eks update-kubeconfig` writes them.
        ("--region eu-west-1 eks get-token --cluster-name shop-prod --output json", None),
        ("--region eu-west-1 eks get-token --cluster-name shop-prod --output json --role arn:aws:iam::1:role/a", "a"),
        ("eks get-token --cluster-name shop-prod --role-arn arn:aws:iam::1:role/a", "a"),
    ],
)
def test_it_takes_the_arguments_that_kubeconfigs_have(
    words: str, role: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setattr(eks, "token", lambda *given: {"given": given})
    expected = ("shop-prod", "eu-west-1", role and f"arn:aws:iam::1:role/{role}", None)
    assert eks.get_token(words.split()) == {"given": expected}


def test_a_token_has_the_version_that_the_client_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#input-and-output-formats."""
    monkeypatch.setenv("KUBERNETES_EXEC_INFO", '{"apiVersion": "client.authentication.k8s.io/v1", "spec": {}}')
    assert eks.token("shop-prod", "eu-west-1")["apiVersion"] == "client.authentication.k8s.io/v1"


@pytest.mark.parametrize("words", ["", "--version", "s3 ls", "eks get-token", "eks get-token --cluster-id a"])
def test_other_commands_of_the_aws_cli_are_rejected(words: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        eks.get_token(words.split())


def test_a_token_without_a_region_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(SystemExit, match="2"):
        eks.get_token(["eks", "get-token", "--cluster-name", "shop-prod"])
    assert "there is no region" in capsys.readouterr().err


def test_a_token_can_be_that_of_a_role() -> None:
    with mock_aws():
        made = eks.token("shop-prod", "eu-west-1", "arn:aws:iam::111122223333:role/reader")
    text = made["status"]["token"].partition(".")[2]
    query = parse_qs(urlsplit(base64.urlsafe_b64decode(text + "==").decode()).query)
    assert query["X-Amz-Credential"][0].startswith("ASIA")
    assert query["X-Amz-Security-Token"][0]
