"""What a team declares beside the platform, in the same stack: written by hand, as from any example of a provider."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

KUBECONFIG = {
    "contexts": [{"name": "beside", "context": {"cluster": "beside"}}],
    "clusters": [{"name": "beside", "cluster": {"server": "https://beside.example.com"}}],
    "current-context": "beside",
}
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"},
        ],
    }
)
RIGHTS = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["sqs:SendMessage"],
                "Resource": "arn:aws:sqs:eu-west-1:123456789012:orders",
            },
        ],
    }
)
PASSWORD = "correct horse battery staple"  # noqa: S105 (a test looks for it in what is printed)

queue = aws.sqs.Queue("orders", name="orders", opts=pulumi.ResourceOptions(protect=True))
key = aws.kms.Key("orders", description="Orders", enable_key_rotation=True, deletion_window_in_days=7)
role = aws.iam.Role("reports", name="reports", assume_role_policy=TRUST)
aws.iam.RolePolicy("reports", name="reports", role=role.name, policy=RIGHTS)
vpc = aws.ec2.Vpc("reports", cidr_block="10.99.0.0/16")
aws.ec2.SecurityGroup(
    "reports",
    vpc_id=vpc.id,
    description="Reports",
    ingress=[{"protocol": "tcp", "from_port": 443, "to_port": 443, "cidr_blocks": ["10.0.0.0/8"]}],
)

cluster = kubernetes.Provider("beside", kubeconfig=json.dumps(KUBECONFIG))
inside = pulumi.ResourceOptions(provider=cluster)
kubernetes.core.v1.Secret(
    "database",
    metadata={"name": "database", "namespace": "default"},
    string_data={"password": pulumi.Output.secret(PASSWORD)},
    opts=inside,
)
SPEC: Any = {
    "serviceName": "database",
    "replicas": 2,
    "selector": {"matchLabels": {"app": "database"}},
    "template": {
        "metadata": {"labels": {"app": "database"}},
        "spec": {"containers": [{"name": "database", "image": "registry.example.com/base/postgres:17"}]},
    },
    "volumeClaimTemplates": [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}},
        }
    ],
}
kubernetes.apps.v1.StatefulSet(
    "database", metadata={"name": "database", "namespace": "default"}, spec=SPEC, opts=inside
)
RULES: Any = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
kubernetes.rbac.v1.ClusterRole("viewer", metadata={"name": "viewer"}, rules=RULES, opts=inside)
