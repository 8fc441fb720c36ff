"""What resources hold: data that is lost with them, or pods that stop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True, slots=True)
class Holding:
    """One kind of resource. ``noun`` is its name, ``lost`` what a deletion takes with it: data, or running pods."""

    noun: str
    lost: str
    is_data: bool


_data = partial(Holding, is_data=True)
_pods = partial(Holding, is_data=False)
_DATABASE = _data("database", "its data")
_CACHE = _data("cache", "what it stores")
_CONNECTIONS = "the VPC's connections to the internet"
_RECORD = _pods("DNS record", "the connections of clients that look the name up")
_PROVIDER = _pods("identity provider", "the access of all who assume a role by it")
_LOAD_BALANCER = _pods("load balancer", "its address and open connections")
_AWS = {
    "eks/cluster:Cluster": _data("EKS cluster", "all workloads, their volumes' claims, and the cluster's endpoint"),
    "eks/addon:Addon": _pods("EKS add-on", "its pods on all nodes"),
    "eks/fargateProfile:FargateProfile": _pods("Fargate profile", "its pods"),
    "ec2/instance:Instance": _data("EC2 instance", "its instance store, and volumes that are deleted on termination"),
    "ebs/volume:Volume": _data("EBS volume", "its data"),
    "efs/fileSystem:FileSystem": _data("file system", "its files"),
    "s3/bucket:Bucket": _data("S3 bucket", "its objects"),
    "s3/bucketV2:BucketV2": _data("S3 bucket", "its objects"),
    "ecr/repository:Repository": _data("ECR repository", "its images"),
    "kms/key:Key": _data("KMS key", "everything that is encrypted with it"),
    "kms/replicaKey:ReplicaKey": _data("KMS key", "everything that is encrypted with it"),
    "secretsmanager/secret:Secret": _data("secret", "its value"),
    "secretsmanager/secretVersion:SecretVersion": _data("secret", "its value"),
    "ssm/parameter:Parameter": _data("SSM parameter", "its value"),
    "iam/openIdConnectProvider:OpenIdConnectProvider": _PROVIDER,
    "iam/samlProvider:SamlProvider": _PROVIDER,
    "iam/accessKey:AccessKey": _pods("access key", "the access of all who use it"),
    "sqs/queue:Queue": _data("SQS queue", "the messages that are not read yet"),
    "sns/topic:Topic": _data("SNS topic", "its subscriptions"),
    "kinesis/stream:Stream": _data("stream", "the records that are not read yet"),
    "msk/cluster:Cluster": _data("Kafka cluster", "its topics"),
    "cloudwatch/logGroup:LogGroup": _data("log group", "its logs"),
    "rds/instance:Instance": _DATABASE,
    "rds/cluster:Cluster": _DATABASE,
    "rds/clusterInstance:ClusterInstance": _pods("database instance", "its connections"),
    "docdb/cluster:Cluster": _DATABASE,
    "redshift/cluster:Cluster": _DATABASE,
    "dynamodb/table:Table": _data("DynamoDB table", "its items"),
    "elasticache/cluster:Cluster": _CACHE,
    "elasticache/replicationGroup:ReplicationGroup": _CACHE,
    "opensearch/domain:Domain": _data("OpenSearch domain", "its indexes"),
    "backup/vault:Vault": _data("backup vault", "its backups"),
    "route53/zone:Zone": _data("DNS zone", "its records and name servers"),
    "route53/record:Record": _RECORD,
    "ec2/vpc:Vpc": _data("VPC", "everything in it"),
    "ec2/subnet:Subnet": _pods("subnet", "the nodes and network interfaces in it"),
    "ec2/natGateway:NatGateway": _pods("NAT gateway", "open connections to the internet, and its public address"),
    "ec2/eip:Eip": _data("Elastic IP address", "the address, which others may have allowed"),
    "ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": _pods("CIDR block of the VPC", "the subnets in it"),
    "ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway": _pods("egress-only internet gateway", _CONNECTIONS),
    "ec2/internetGateway:InternetGateway": _pods("internet gateway", _CONNECTIONS),
    "ec2/routeTable:RouteTable": _pods("route table", "the routes of its subnets"),
    "ec2/vpcEndpoint:VpcEndpoint": _pods("VPC endpoint", "the private way to an AWS service"),
    "lb/loadBalancer:LoadBalancer": _LOAD_BALANCER,
    "alb/loadBalancer:LoadBalancer": _LOAD_BALANCER,
    "elb/loadBalancer:LoadBalancer": _LOAD_BALANCER,
}
_KUBERNETES = {
    ("", "Namespace"): _data("Namespace", "everything in it"),
    ("", "PersistentVolumeClaim"): _data("PersistentVolumeClaim", "its volume, unless that is retained"),
    ("", "PersistentVolume"): _data("PersistentVolume", "its data, unless it is retained"),
    ("", "Secret"): _data("Secret", "its values"),
    ("", "Service"): _pods("Service", "its address, and a load balancer that it has"),
    ("networking.k8s.io", "Ingress"): _pods("Ingress", "its rules, and a load balancer that it has"),
    ("", "Pod"): _pods("Pod", "the pod"),
    ("apps", "StatefulSet"): _data("StatefulSet", "its pods, with the identity of each"),
    ("apps", "Deployment"): _pods("Deployment", "its pods"),
    ("apps", "DaemonSet"): _pods("DaemonSet", "its pods on all nodes"),
    ("apps", "ReplicaSet"): _pods("ReplicaSet", "its pods"),
    ("batch", "Job"): _pods("Job", "its running pods"),
    ("batch", "CronJob"): _pods("CronJob", "its running pods"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _data("CustomResourceDefinition", "all objects of its kind"),
    ("helm.sh", "Release"): _pods("Helm release", "all objects of the chart"),
}


def get_holding(token: str) -> Holding | None:
    """Return what a resource of a type such as ``aws:eks/cluster:Cluster`` holds; None if it can be made again.

    Node groups, Auto Scaling groups and NodePools are not here: findings about nodes say what happens to their pods.
    """
    package, _, rest = token.partition(":")
    if package == "kubernetes":
        version, _, kind = rest.rpartition(":")
        group = version.partition("/")[0] if "/" in version else ""
        return _KUBERNETES.get(("" if group == "core" else group, kind))
    return _AWS.get(rest) if package == "aws" else None


_JUDGED = (
    *("aws:autoscaling/", "aws:eks/", "aws:iam/", "aws:kms/alias:", "aws:vpc/securityGroup", "pulumi:", "eks:index:"),
    *(f"aws:ec2/{name}" for name in ("defaultSecurityGroup:", "flowLog:", "launchTemplate:", "managedPrefixList")),
    *(f"aws:ec2/{name}:" for name in ("route", "routeTableAssociation", "tag", "mainRouteTableAssociation")),
    *("aws:ec2/securityGroup", "aws:s3/bucket", "aws:s3/accountPublicAccessBlock", "aws:ebs/encryptionByDefault:"),
    "aws:ec2/amiLaunchPermission:",
    *("aws:cloudwatch/event", "aws:cloudwatch/metricAlarm:", "aws:cloudwatch/dashboard:", "aws:ssm/document:"),
    *("aws:sqs/queuePolicy:", "aws:sns/topicPolicy:", "aws:sns/topicSubscription:", "aws:secretsmanager/secretPolicy:"),
    *("aws:ecr/repositoryPolicy:", "aws:ecr/lifecyclePolicy:", "aws:lb/listener", "aws:lb/targetGroup"),
    *("aws:alb/listener", "aws:alb/targetGroup", "aws:rds/subnetGroup:", "aws:rds/parameterGroup:"),
    *("kubernetes:admissionregistration.k8s.io/", "kubernetes:rbac.authorization.k8s.io/"),
    *("kubernetes:storage.k8s.io/v1:StorageClass", "kubernetes:karpenter.k8s.aws/", "kubernetes:karpenter.sh/"),
    "kubernetes:eks.amazonaws.com/",
    *(f"kubernetes:core/v1:{kind}" for kind in ("ConfigMap", "ServiceAccount", "LimitRange", "ResourceQuota")),
    *("kubernetes:autoscaling/", "kubernetes:scheduling.k8s.io/", "kubernetes:monitoring.coreos.com/"),
    "kubernetes:networking.k8s.io/v1:NetworkPolicy",
)
"""Types, by how they begin, that hold nothing: other rules find what they permit, or they can be made again."""
_PACKAGES = frozenset({"aws", "aws-native", "kubernetes"})


def is_judged(token: str) -> bool:
    """Return whether a rule or a table knows what a change of this type does."""
    return token.startswith(_JUDGED) or get_holding(token) is not None


def is_resource(token: str, id_: str) -> bool:
    """Return whether it is a resource: a component, which only groups others, has no ID, and is of no provider here."""
    return bool(id_) or token.partition(":")[0] in _PACKAGES
