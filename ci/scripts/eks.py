#!/usr/bin/env python3
"""A kubeconfig for an EKS cluster, and the tokens it needs, where there is no AWS CLI: needs boto3.

    eks.py kubeconfig CLUSTER REGION            print a kubeconfig that runs this file for tokens
    eks.py eks get-token --cluster-name NAME    print an ExecCredential

The second takes the options of `aws eks get-token` that kubeconfigs have: in the image, this file is the program `aws`.
The token is a presigned request of STS GetCallerIdentity with the header x-k8s-aws-id.
Source: https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
from botocore.signers import RequestSigner

API = "client.authentication.k8s.io/v1beta1"
SIGNED_SECONDS = 60
"""What EKS accepts."""
VALID = timedelta(minutes=14)
"""A token is accepted for 15 minutes."""


def kubeconfig(cluster: str, region: str) -> dict[str, Any]:
    """Return a kubeconfig with one context, named as the cluster. Queries EKS for the endpoint."""
    found = boto3.client("eks", region_name=region).describe_cluster(name=cluster)["cluster"]
    authority = {"certificate-authority-data": found["certificateAuthority"]["data"]}
    words = [str(Path(__file__).resolve()), "--region", region, "eks", "get-token", "--cluster-name", cluster]
    command = {"command": sys.executable, "args": words}
    user = {"exec": {"apiVersion": API, "interactiveMode": "Never", **command}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": found["endpoint"], **authority}}],
        "users": [{"name": cluster, "user": user}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
        "current-context": cluster,
    }


def token(cluster: str, region: str, role: str | None = None, profile: str | None = None) -> dict[str, Any]:
    """Return an ExecCredential of the profile's identity, or of a role that it assumes, in the client's version."""
    session = boto3.Session(profile_name=profile, region_name=region)
    client = session.client("sts")
    if role:
        made = client.assume_role(RoleArn=role, RoleSessionName="EKSGetTokenAuth")["Credentials"]
        session = boto3.Session(made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"], region)
        client = session.client("sts")
    service = client.meta.service_model.service_id
    signer = RequestSigner(service, region, "sts", "v4", session.get_credentials(), session.events)
    request = {
        "method": "GET",
        "url": f"{client.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": {"x-k8s-aws-id": cluster},
        "context": {},
    }
    url = signer.generate_presigned_url(request, region_name=region, expires_in=SIGNED_SECONDS, operation_name="")
    text = base64.urlsafe_b64encode(url.encode()).rstrip(b"=").decode()
    until = (datetime.now(UTC) + VALID).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"token": f"k8s-aws-v1.{text}", "expirationTimestamp": until}
    version = json.loads(os.environ.get("KUBERNETES_EXEC_INFO", "{}")).get("apiVersion", API)
    return {"apiVersion": version, "kind": "ExecCredential", "spec": {}, "status": status}


def get_token(words: list[str]) -> dict[str, Any]:
    """Return what `aws` with these arguments prints, or exit with 2 if they are not those of `eks get-token`."""
    parser = argparse.ArgumentParser(prog="aws", usage="aws [--region REGION] eks get-token --cluster-name NAME")
    parser.add_argument("command", nargs="*")
    for name in ("--cluster-name", "--region", "--role-arn", "--profile"):
        parser.add_argument(name)
    parser.add_argument("--output", choices=["json"])
    given = parser.parse_args(words)
    if given.command != ["eks", "get-token"] or not given.cluster_name:
        parser.error("this is not the AWS CLI: it has nothing but `eks get-token`, for kubeconfigs")
    region = given.region or os.environ.get("AWS_REGION") or boto3.Session(profile_name=given.profile).region_name
    if not region:
        parser.error("there is no region: give --region, or set AWS_REGION")
    return token(given.cluster_name, region, given.role_arn, given.profile)


def main() -> None:
    """Run the command line."""
    match sys.argv[1:]:
        case ["kubeconfig", cluster, region]:
            print(json.dumps(kubeconfig(cluster, region)))
        case words:
            print(json.dumps(get_token(words)))


if __name__ == "__main__":
    main()
