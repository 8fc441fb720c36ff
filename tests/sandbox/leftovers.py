"""The resources in the sandbox's AWS beyond moto's defaults, with kinds that `make status` does not list."""

from __future__ import annotations

from sandbox.inventory import Aws, Listing

_MORE = (
    Listing("network interfaces", "ec2", "describe_network_interfaces", "NetworkInterfaces[].NetworkInterfaceId"),
    Listing("volumes", "ec2", "describe_volumes", "Volumes[].VolumeId"),
    Listing("KMS aliases", "kms", "list_aliases", "Aliases[?!starts_with(AliasName, 'alias/aws/')].AliasName"),
    Listing("SSM parameters", "ssm", "describe_parameters", "Parameters[?!starts_with(Name, '/aws/')].Name"),
)


def leftovers(endpoint: str, region: str = "us-east-1") -> dict[str, list[str]]:
    """Everything beyond moto's defaults at an endpoint, by kind, sorted; kinds with nothing are omitted."""
    aws = Aws(endpoint, region)
    found = {**aws.everything(), **{kind.label: aws.ask(kind) for kind in _MORE}}
    return {label: list(found[label]) for label in sorted(found) if found[label]}
