"""A kubeconfig for an EKS cluster, and the tokens it needs, where there is no AWS CLI: needs boto3.

    eks.py kubeconfig CLUSTER REGION    print a kubeconfig that runs this file for tokens
    eks.py token CLUSTER REGION         print an ExecCredential, as `aws eks get-token` does

The token is a presigned request of STS GetCallerIdentity with the header x-k8s-aws-id.
Source: https://github.com/kubernetes-sigs/aws-iam-authenticator#api-authorization-from-outside-a-cluster.
"""

from __future__ import annotations

import base64
import json
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
    command = {"command": sys.executable, "args": [str(Path(__file__).resolve()), "token", cluster, region]}
    user = {"exec": {"apiVersion": API, "interactiveMode": "Never", **command}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": found["endpoint"], **authority}}],
        "users": [{"name": cluster, "user": user}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster}}],
        "current-context": cluster,
    }


def token(cluster: str, region: str) -> dict[str, Any]:
    """Return an ExecCredential."""
    session = boto3.Session(region_name=region)
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
    return {"apiVersion": API, "kind": "ExecCredential", "spec": {}, "status": status}


def main() -> None:
    """Run the command line."""
    match sys.argv[1:]:
        case ["kubeconfig", cluster, region]:
            print(json.dumps(kubeconfig(cluster, region)))
        case ["token", cluster, region]:
            print(json.dumps(token(cluster, region)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
