"""Tokens and kubeconfigs for EKS without the AWS CLI."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from botocore.stub import Stubber

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
    assert plugin["args"][1:] == ["token", "shop-prod", "eu-west-1"]
    assert made["current-context"] == made["contexts"][0]["name"] == "shop-prod"
