"""Public access, encryption, protection, logging and the metadata service: what is weaker after a change."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from multiarch.observed.resources.paths import UNKNOWN
from multiarch.review.model import Operation
from tests.review.permissions.steps import ROLE, find, step

TEMPLATE, CLUSTER = "aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/cluster:Cluster"
LOGS, KEY, FLOW_LOG = "aws:cloudwatch/logGroup:LogGroup", "aws:kms/key:Key", "aws:ec2/flowLog:FlowLog"
BALANCER, BLOCK = "aws:lb/loadBalancer:LoadBalancer", "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
DATABASE = "aws:rds/instance:Instance"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"
DEPLOYMENT, NAMESPACE = "kubernetes:apps/v1:Deployment", "kubernetes:core/v1:Namespace"
ENFORCED = 'metadata.labels["pod-security.kubernetes.io/enforce"]'
DISK, TOKENS = "blockDeviceMappings.ebs.encrypted", "metadataOptions.httpTokens"
POLICY = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
OWN_KEY = "not encrypted with a KMS key of yours"


def disks(*encrypted: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"ebs": {"encrypted": each}} for each in encrypted]}


def metadata(tokens: Any, hops: Any = 1) -> dict[str, Any]:  # noqa: ANN401
    return {"metadataOptions": {"httpTokens": tokens, "httpPutResponseHopLimit": hops}}


def pods(*, privileged: bool) -> dict[str, Any]:
    containers = [{"name": "a"}, {"securityContext": {"privileged": privileged}}]
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def level(name: str) -> dict[str, Any]:
    return {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": name}}}


@pytest.mark.parametrize(
    ("type_", "strong", "weak", "rule", "text"),
    [
        (BALANCER, {"internal": True}, {"internal": False}, "public-endpoint", "internal is false"),
        (DATABASE, {}, {"publiclyAccessible": True}, "public-endpoint", "publiclyAccessible is true"),
        ("aws:s3/bucketAcl:BucketAcl", {"acl": "private"}, {"acl": "public-read"}, "public-endpoint",
         "acl is public-read"),
        (BLOCK, {"restrictPublicBuckets": True}, {"restrictPublicBuckets": False}, "public-endpoint",
         "restrictPublicBuckets is false: public access is no longer blocked"),
        (CLUSTER, {"encryptionConfig": {"provider": {"keyArn": UNKNOWN}}}, {}, "weaken-encryption",
         f"encryptionConfig is not set: Secrets are {OWN_KEY}"),
        (TEMPLATE, disks("true", "true"), disks("true", "false"), "weaken-encryption", f"{DISK} is false"),
        (TEMPLATE, disks("true"), disks(UNKNOWN), "weaken-encryption", f"{DISK} is known only after the update"),
        (TEMPLATE, disks("true"), {"blockDeviceMappings": UNKNOWN}, "weaken-encryption",
         f"{DISK} is known only after the update"),
        (NODE_CLASS, {"spec": disks("true")}, {"spec": disks("false")}, "weaken-encryption", f"spec.{DISK} is false"),
        (LOGS, {"kmsKeyId": "arn:1"}, {}, "weaken-encryption", f"kmsKeyId is not set: {OWN_KEY}"),
        ("aws:lb/listener:Listener", {"protocol": "HTTPS"}, {"protocol": "HTTP"}, "weaken-encryption",
         "protocol is HTTP"),
        ("aws:dynamodb/table:Table", {"serverSideEncryption": [{"enabled": True}]}, {}, "weaken-encryption",
         "serverSideEncryption.enabled is not set"),
        (KEY, {"enableKeyRotation": True}, {"enableKeyRotation": False}, "weaken-encryption",
         "enableKeyRotation is false"),
        (CLUSTER, {"deletionProtection": True}, {"deletionProtection": False}, "weaken-protection",
         "deletionProtection is false"),
        (KEY, {}, {"deletionWindowInDays": 7}, "weaken-protection", "deletionWindowInDays is 7"),
        (DATABASE, {"backupRetentionPeriod": 7}, {"backupRetentionPeriod": 0}, "weaken-protection",
         "backupRetentionPeriod is 0"),
        (DATABASE, {}, {"skipFinalSnapshot": True}, "weaken-protection", "skipFinalSnapshot is true"),
        ("aws:ecr/repository:Repository", {"imageTagMutability": "IMMUTABLE"}, {}, "weaken-protection",
         "imageTagMutability is not set: tags can be moved"),
        (CLUSTER, {"enabledClusterLogTypes": ["api", "audit"]}, {"enabledClusterLogTypes": ["api"]},
         "weaken-logging", "no audit logs"),
        (LOGS, {}, {"retentionInDays": 90}, "weaken-logging", "retentionInDays is 90"),
        (LOGS, {"retentionInDays": 0}, {"retentionInDays": 90}, "weaken-logging", "retentionInDays is 90"),
        (FLOW_LOG, {"trafficType": "ALL"}, {"trafficType": "REJECT"}, "weaken-logging", "trafficType is REJECT"),
        (TEMPLATE, metadata("required"), metadata("optional"), "weaken-metadata-service", f"{TOKENS} is optional"),
        (TEMPLATE, metadata("required"), {}, "weaken-metadata-service", f"{TOKENS} is not set"),
        (TEMPLATE, metadata("required"), metadata("required", 2), "weaken-metadata-service",
         "metadataOptions.httpPutResponseHopLimit is 2: pods that are not on the host network can use the role"),
        (NODE_CLASS, {"spec": {}}, {"spec": metadata("optional")}, "weaken-metadata-service",
         f"spec.{TOKENS} is optional"),
        (CONFIGURATION, metadata("required"), metadata("optional"), "weaken-metadata-service", f"{TOKENS} is optional"),
        (DATABASE, {"storageEncrypted": True}, {}, "weaken-encryption", "storageEncrypted is not set"),
        ("aws:ec2/amiLaunchPermission:AmiLaunchPermission", {"accountId": "111122223333"}, {"group": "all"},
         "public-endpoint", "group is all: every account"),
        (DEPLOYMENT, pods(privileged=False), pods(privileged=True), "weaken-pod-security",
         "spec.template.spec.containers.securityContext.privileged is true: the container is root on the node"),
        ("kubernetes:core/v1:Pod", {"spec": {}}, {"spec": {"hostPID": True}}, "weaken-pod-security",
         "spec.hostPID is true: the pod shares it with the node"),
        ("aws:ssm/document:D", {"content": {"inputs": {"cloudWatchStreamingEnabled": True}}}, {}, "weaken-logging",
         "content.inputs.cloudWatchStreamingEnabled is not set: sessions are not logged"),
        ("aws:eks/addon:Addon", {"configurationValues": '{"enableNetworkPolicy": "true"}'}, {}, "widen-network",
         "configurationValues.enableNetworkPolicy is not set: no NetworkPolicy holds"),
        (NAMESPACE, level("restricted"), level("baseline"), "weaken-pod-security", f"{ENFORCED} is baseline"),
        (NAMESPACE, level("baseline"), level("privileged"), "weaken-pod-security", f"{ENFORCED} is privileged"),
        (NAMESPACE, level("baseline"), {"metadata": {}}, "weaken-pod-security", f"{ENFORCED} is not set"),
    ],
)  # fmt: skip
def test_a_setting_that_becomes_weaker_is_reported_and_one_that_becomes_stronger_is_not(
    type_: str, strong: Any, weak: Any, rule: str, text: str  # noqa: ANN401
) -> None:  # fmt: skip
    private = {"vpcConfig": {"endpointPublicAccess": False}}
    strong, weak = strong | private, weak | private
    (found,) = find(step(type_, "x", strong, weak))
    assert found.split()[1] == f"{rule}:"
    assert found.endswith(f" x becomes weaker: {text}")
    assert find(step(type_, "x", weak, strong)) == []
    assert find(step(type_, "x", strong, strong | {"tags": {"a": "b"}})) == []


KEY_IDS = "kmsKeyId kmsMasterKeyId content.inputs.kmsKeyId"
MACHINES = f"{TEMPLATE} {CONFIGURATION} aws:ec2/instance:Instance"
RDS = "aws:rds/instance:Instance aws:rds/cluster:Cluster aws:rds/globalCluster:GlobalCluster"
DATABASES = f"{RDS} aws:docdb/cluster:Cluster aws:neptune/cluster:Cluster"
ACLS = "private log-delivery-write bucket-owner-read bucket-owner-full-control aws-exec-read"
BLOCKS = "blockPublicAcls blockPublicPolicy ignorePublicAcls restrictPublicBuckets"
BALANCERS = f"{BALANCER} aws:alb/loadBalancer:LoadBalancer aws:elb/loadBalancer:LoadBalancer"
AUTO_MODE, ANY = "kubernetes:eks.amazonaws.com/v1:NodeClass", "aws:x/y:Y"
PUBLIC_IP = "publiclyAccessible associatePublicIpAddress networkInterfaces.associatePublicIpAddress"
PROTECTED = "deletionProtection enableDeletionProtection deletionProtectionEnabled disableApiTermination"
HOPS, KMS_STATES = "metadataOptions.httpPutResponseHopLimit", "aws:ebs/encryptionByDefault:E aws:kms/key:Key"
JOB = "spec.jobTemplate.spec.template.spec"
WORKLOADS = f"{DEPLOYMENT} kubernetes:batch/v1:Job kubernetes:core/v1:Pod"
ENTRIES = [
    ("public-endpoint", BALANCERS, "internal", "true", "false", True),
    ("public-endpoint", ANY, PUBLIC_IP, "false", "true", True),
    ("public-endpoint", AUTO_MODE, "spec.advancedNetworking.associatePublicIPAddress", "false", "true", True),
    ("public-endpoint", ANY, "mapPublicIpOnLaunch", "false", "true", False),
    ("public-endpoint", ANY, BLOCKS, "true", "false", False),
    ("public-endpoint", "aws:s3/bucket:Bucket aws:s3/bucketAcl:BucketAcl", "acl", ACLS, "public-read", True),
    ("public-endpoint", "aws:ec2/amiLaunchPermission:A", "group", "", "all", True),
    ("weaken-encryption", CLUSTER, "encryptionConfig", "x", "", False),
    ("weaken-encryption", ANY, KEY_IDS, "x", "", False),
    ("weaken-encryption", TEMPLATE, DISK, "true", "false", True),
    ("weaken-encryption", NODE_CLASS, f"spec.{DISK}", "true", "false", True),
    ("weaken-encryption", "aws:ebs/volume:Volume aws:efs/fileSystem:FileSystem", "encrypted", "true", "false", True),
    ("weaken-encryption", DATABASES, "storageEncrypted", "true", "false", True),
    ("weaken-encryption", ANY, "rootBlockDevice.encrypted serverSideEncryption.enabled enableKeyRotation", "true",
     "false", False),
    ("weaken-encryption", "kubernetes:storage.k8s.io/v1:StorageClass", "parameters.encrypted", "true", "false", False),
    ("weaken-encryption", "aws:s3/bucketServerSideEncryptionConfiguration:B", "rules", "x", "", False),
    ("weaken-encryption", KMS_STATES, "enabled isEnabled", "true", "false", False),
    ("weaken-encryption", "aws:lb/listener:L aws:alb/listener:L", "protocol", "HTTPS TLS", "TCP", False),
    ("weaken-protection", ANY, f"{PROTECTED} pointInTimeRecovery.enabled", "true", "false", False),
    ("weaken-protection", ANY, "skipFinalSnapshot forceDestroy forceDelete", "false", "true", False),
    ("weaken-protection", ANY, "deletionWindowInDays", "30", "7", False),
    ("weaken-protection", ANY, "backupRetentionPeriod", "1", "0", False),
    ("weaken-protection", ANY, "backupRetentionPeriod", "", "0", False),
    ("weaken-protection", ANY, "imageTagMutability", "IMMUTABLE", "MUTABLE", False),
    ("weaken-protection", "aws:s3/bucketVersioning:B", "versioningConfiguration.status", "Enabled", "Suspended", False),
    ("weaken-protection", "kubernetes:storage.k8s.io/v1:StorageClass", "reclaimPolicy", "Retain", "Delete", False),
    ("weaken-logging", LOGS, "retentionInDays", "0 365", "90", False),
    ("weaken-logging", ANY, "trafficType", "ALL", "REJECT", False),
    ("weaken-logging", "aws:ssm/document:D", "content.inputs.cloudWatchStreamingEnabled", "true", "false", False),
    ("widen-network", "aws:eks/addon:Addon", "configurationValues.enableNetworkPolicy", "true", "false", False),
    ("widen-network", POLICY, "spec", "x", "", False),
    ("weaken-metadata-service", MACHINES, TOKENS, "required", "optional", True),
    ("weaken-metadata-service", NODE_CLASS, f"spec.{TOKENS}", "required", "optional", True),
    ("weaken-metadata-service", MACHINES, HOPS, "1", "2", False),
    ("weaken-metadata-service", NODE_CLASS, f"spec.{HOPS}", "1", "2", False),
    *(
        ("weaken-pod-security", WORKLOADS, f"{spec}.{path}", "false", "true", True)
        for spec in ("spec", "spec.template.spec", JOB)
        for path in ("containers.securityContext.privileged", "initContainers.securityContext.privileged",
                     "hostNetwork", "hostPID", "hostIPC")
    ),
    ("widen-cluster-access", CLUSTER, "accessConfig.authenticationMode", "API", "CONFIG_MAP", False),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "types", "paths", "strong", "weak", "if_new"), ENTRIES)
def test_each_setting_is_compared(rule: str, types: str, paths: str, strong: str, weak: str, if_new: bool) -> None:  # noqa: FBT001
    def nest(path: str, value: str) -> dict[str, Any]:
        name, _, rest = path.partition(".")
        return ({name: nest(rest, value)} if rest else {name: value}) if value else {}

    for type_, path, value in product(types.split(), paths.split(), strong.split() or [""]):
        assert any(f" {rule}: " in each and "weaker: " in each for each in find(
            step(type_, "x", nest(path, value), nest(path, weak))
        )), (type_, path, value)  # fmt: skip
        created = find(step(type_, "x", None, nest(path, weak)))
        said = f"x is created weaker than it could be: {path} is {weak}"
        assert any(f"MEDIUM {rule}: " in each and said in each for each in created) is if_new, (type_, path)


def test_new_resources_are_reported_where_they_could_be_stronger() -> None:
    weaker = "is created weaker than it could be"
    assert find(step(TEMPLATE, "x", None, {**metadata("optional"), **disks("true")})) == [
        f"MEDIUM weaken-metadata-service: launch template x {weaker}: {TOKENS} is optional"
    ]
    assert find(step(BALANCER, "x", None, {})) == [
        f"MEDIUM public-endpoint: load balancer x {weaker}: internal is not set"
    ]
    assert find(step(DATABASE, "x", None, {})) == [
        f"MEDIUM weaken-encryption: instance x {weaker}: storageEncrypted is not set"
    ]
    (privileged,) = find(step(DEPLOYMENT, "x", None, pods(privileged=True)))
    assert privileged.startswith(f"MEDIUM weaken-pod-security: Deployment x {weaker}: ")
    assert find(step(DEPLOYMENT, "x", None, pods(privileged=False)), step(NAMESPACE, "x", None, {})) == []
    assert find(step(TEMPLATE, "x", None, {**metadata("required", 2), **disks("true")})) == []
    assert find(step(LOGS, "x", None, {"retentionInDays": 7})) == []


@pytest.mark.parametrize(
    ("type_", "inputs", "target", "text"),
    [
        (FLOW_LOG, {"trafficType": "ALL"}, "aws:ec2/vpc:Vpc",
         "MEDIUM weaken-logging: flow log x becomes weaker: trafficType is not set"),
        (POLICY, {"spec": {"egress": []}}, NAMESPACE,
         "HIGH widen-network: NetworkPolicy x becomes weaker: spec is not set: it limits no traffic any more"),
        (BLOCK, {"blockPublicAcls": True}, "aws:s3/bucketV2:BucketV2",
         "HIGH public-endpoint: S3 bucket public access block x becomes weaker: blockPublicAcls is not set: "),
    ],
)  # fmt: skip
def test_what_protects_another_resource_must_not_go_alone(
    type_: str, inputs: dict[str, Any], target: str, text: str
) -> None:
    gone = step(type_, "x", inputs, None)
    stays, goes = (step(target, "y", {"name": "it"}, each) for each in ({"name": "it"}, None))
    assert find(stays, gone)[0].startswith(text)
    assert find(goes, gone) == []
    other = NAMESPACE if target != NAMESPACE else "aws:ec2/vpc:Vpc"
    assert find(step(other, "y", {"name": "it"}, None), gone)[0].startswith(text)


def test_what_protects_one_bucket_or_namespace_does_not_go_unseen_with_another() -> None:
    guards = [
        step(POLICY, "x", {"metadata": {"namespace": "payments"}, "spec": {"egress": []}}, None),
        step(BLOCK, "x", {"bucket": "logs", "blockPublicAcls": True}, None),
    ]
    goes = step(NAMESPACE, "y", {"metadata": {"name": "scratch"}}, None)
    bucket = step("aws:s3/bucketV2:BucketV2", "y", {"bucket": "scratch"}, None)
    assert [each.split(":")[0] for each in find(*guards, goes, bucket)] == [
        "HIGH widen-network",
        "HIGH public-endpoint",
    ]
    goes = step(NAMESPACE, "y", {"metadata": {"name": "payments"}}, None)
    bucket = step("aws:s3/bucketV2:BucketV2", "y", {"bucket": "logs"}, None)
    assert find(*guards, goes, bucket) == []
    hidden = step(BLOCK, "x", {"bucket": {"of": "a mapping"}, "blockPublicAcls": True}, None)
    assert find(hidden, bucket) == []


def test_protect_that_is_taken_away_is_reported_once() -> None:
    inputs = {"name": "x"}
    steps = [step(ROLE, name, inputs, inputs, protect=(True, False)) for name in ("a", "b", "c")]
    assert all(each.operation is Operation.UPDATE for each in steps)
    assert find(*steps) == [
        ("HIGH weaken-protection: IAM role a and 2 more protect is removed: Pulumi can delete and replace it"),
        "IAM role b",
        "IAM role c",
    ]
    same = step(ROLE, "a", inputs, inputs, protect=(True, False), operation=Operation.SAME)
    assert len(find(same)) == 1
    assert find(step(ROLE, "a", inputs, inputs, protect=(False, True))) == []


def test_what_was_weakened_outside_of_pulumi_is_reported_as_such() -> None:
    drift = step(TEMPLATE, "x", metadata("required"), metadata("optional"), operation=Operation.DRIFT)
    assert find(drift) == [
        (
            "HIGH weaken-metadata-service: launch template x changed outside of Pulumi: becomes weaker: "
            f"{TOKENS} is optional"
        )
    ]
