"""The tables against the real SDK's classes and botocore's models: names that do not exist would never be noticed."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from sandbox.providers import StandInError
from sandbox.providers.aws import shapes
from sandbox.providers.aws.functions import TOKENS
from sandbox.providers.aws.provider import ROWS
from sandbox.providers.aws.sdk import read_properties
from tests.sandbox.served import CLONE


@pytest.mark.parametrize("token", sorted(ROWS))
def test_every_property_is_one_of_the_real_providers(token: str) -> None:
    properties, row = read_properties(token), ROWS[token]
    naming = {row.name.prefix} if row.name else set()  # of some types an input alone
    assert row.known_inputs() - naming - {"region"} <= set(properties)
    assert set(row.renewed) <= set(properties)


@pytest.mark.parametrize("token", sorted(ROWS))
def test_updates_name_inputs_of_the_row(token: str) -> None:
    row = ROWS[token]
    for update in row.updates:
        assert set(update.inputs) <= row.known_inputs()
    assert not set(row.ignored) & {name for update in row.updates for name in update.inputs}
    for path in row.forced:
        assert row.replaces(path)
        assert not row.replaces(path.split(".", maxsplit=1)[0])


@pytest.mark.parametrize(
    ("token", "computed", "other"),
    [
        ("aws:eks/nodeGroup:NodeGroup", ("releaseVersion", "launchTemplate.id"), ("labels", "launchTemplate.version")),
        (
            "aws:eks/cluster:Cluster",
            ("upgradePolicy.supportType", "vpcConfig.vpcId"),
            ("encryptionConfig",),
        ),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", ("policy",), ("vpcEndpointType",)),
    ],
)
def test_what_is_optional_and_computed_is_known(token: str, computed: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert all(map(ROWS[token].is_computed, computed))
    assert not any(map(ROWS[token].is_computed, other))


def test_the_documents_name_every_type_with_its_source() -> None:
    page = (CLONE / "docs/reference/providers.md").read_text()
    for token, row in ROWS.items():
        kind = f"{token.split(':')[1].split('/')[0]}.{token.split(':')[2]}"
        assert f"| `{kind}` | [{row.source.split()[0]}]" in page


def test_every_function_is_one_of_the_real_providers() -> None:
    for token in TOKENS:
        _, path, name = token.split(":")
        module = path.split("/", maxsplit=1)[0]
        package = importlib.import_module("pulumi_aws" if module == "index" else f"pulumi_aws.{module}")
        python = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
        assert callable(getattr(package, python))


class TestShapes:
    """Values in the types that botocore's models request."""

    @staticmethod
    def shape(service: str, operation: str) -> Any:  # noqa: ANN401 (botocore's)
        import botocore.session  # noqa: PLC0415 (this helper alone)

        return botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape

    def test_names_and_types_follow_the_model(self) -> None:
        mapping = {
            "deviceName": "/dev/xvda",
            "ebs": {"encrypted": "true", "volumeSize": "30", "deleteOnTermination": True},
        }
        data = {"LaunchTemplateData": {"blockDeviceMappings": [mapping], "imageId": "ami-1"}, "LaunchTemplateName": "t"}
        found = shapes.arguments(self.shape("ec2", "CreateLaunchTemplate"), data, "it")
        ebs = found["LaunchTemplateData"]["BlockDeviceMappings"][0]["Ebs"]
        assert ebs == {"Encrypted": True, "VolumeSize": 30, "DeleteOnTermination": True}

    def test_one_value_is_a_list_where_the_model_has_a_list(self) -> None:
        found = shapes.arguments(self.shape("ec2", "DescribeVpcs"), {"VpcIds": "vpc-1"}, "it")
        assert found == {"VpcIds": ["vpc-1"]}

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"cidrBlok": "10.0.0.0/16"}, "no place for 'cidrBlok'"),
            ({"DryRun": "perhaps"}, "'perhaps' is not a value of type boolean"),
            ({"Ipv4NetmaskLength": "wide"}, "'wide' is not a value of type integer"),
            ({"CidrBlock": ["a", "b"]}, "is not a value of type string"),
        ],
    )
    def test_what_does_not_fit_is_an_error(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(StandInError, match=message):
            shapes.arguments(self.shape("ec2", "CreateVpc"), values, "it")
