"""What counts as left over."""

from __future__ import annotations

import json

from tests.sandbox.leftovers import leftovers
from tests.sandbox.served import REGION, Served

POLICY = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}]}
)


def test_a_fresh_server_holds_nothing_of_ours(aws: Served) -> None:
    assert leftovers(aws.endpoint, REGION) == {}


def test_every_kind_of_thing_is_seen(aws: Served) -> None:
    ec2, iam = aws.client("ec2"), aws.client("iam")
    vpc, subnets = aws.network()
    ec2.create_internet_gateway()
    allocation = ec2.allocate_address(Domain="vpc")["AllocationId"]
    ec2.create_nat_gateway(SubnetId=subnets[0], AllocationId=allocation)
    ec2.create_route_table(VpcId=vpc)
    ec2.create_security_group(GroupName="g", Description="g", VpcId=vpc)
    ec2.create_vpc_endpoint(VpcId=vpc, ServiceName=f"com.amazonaws.{REGION}.s3", VpcEndpointType="Gateway")
    data = {"ImageId": aws.image(), "InstanceType": "m7i.large"}
    ec2.create_launch_template(LaunchTemplateName="team", LaunchTemplateData=data)
    aws.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="g",
        MinSize=1,
        MaxSize=1,
        VPCZoneIdentifier=subnets[0],
        LaunchTemplate={"LaunchTemplateName": "team", "Version": "1"},
    )
    role = aws.role()
    iam.create_policy(PolicyName="p", PolicyDocument=POLICY)
    iam.create_instance_profile(InstanceProfileName="i")
    iam.create_open_id_connect_provider(Url="https://example.org", ThumbprintList=["9" * 40])
    key = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    aws.client("kms").create_alias(AliasName="alias/a", TargetKeyId=key)
    aws.client("logs").create_log_group(logGroupName="l")
    eks_subnets = {"subnetIds": subnets}
    aws.client("eks").create_cluster(name="c", roleArn=role, resourcesVpcConfig=eks_subnets)
    document = '{"schemaVersion": "1.0", "description": "d", "sessionType": "Standard_Stream", "inputs": {}}'
    aws.client("ssm").create_document(Name="document", Content=document, DocumentType="Session", DocumentFormat="JSON")
    aws.client("ssm").put_parameter(Name="/ours", Value="v", Type="String")
    aws.client("sqs").create_queue(QueueName="q")
    aws.client("events").put_rule(Name="r", EventPattern='{"source": ["aws.health"]}')
    found = leftovers(aws.endpoint, REGION)
    assert found["EKS clusters"] == ["c"]
    assert found["SSM parameters"] == ["/ours"]
    assert set(found) == {
        "Auto Scaling groups", "EKS clusters", "EventBridge rules", "IAM policies", "IAM roles", "KMS aliases",
        "KMS keys", "NAT gateways", "OIDC providers", "SQS queues", "SSM documents", "SSM parameters", "VPC endpoints",
        "VPCs", "elastic IPs", "instance profiles", "instances", "internet gateways", "launch templates", "log groups",
        "network interfaces", "route tables", "security groups", "subnets", "volumes",
    }  # fmt: skip


def test_what_aws_still_shows_of_deleted_things_does_not_count(aws: Served) -> None:
    key = aws.client("kms").create_key()["KeyMetadata"]["KeyId"]
    assert leftovers(aws.endpoint, REGION) == {"KMS keys": [key]}
    aws.client("kms").schedule_key_deletion(KeyId=key)
    assert leftovers(aws.endpoint, REGION) == {}
