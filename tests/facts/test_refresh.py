import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES

from multiarch.errors import OutsideError, UnknownFactError
from multiarch.facts.instance_types import DATA_FILE, Accelerator, get_instance_type, read_csv
from multiarch.facts.partitions import REGIONS_FILE, read_regions
from multiarch.facts.refresh import RefreshReport, read_instance_type, update_file, write_csv

Description = dict[str, Any]
# Offered in other regions, or to few accounts; the VPC CNI's list and EC2's guide have them.
NOT_OFFERED = (
    "dl1.24xlarge",
    "f1.16xlarge",
    "f1.2xlarge",
    "f1.4xlarge",
    "g4ad.16xlarge",
    "g4ad.2xlarge",
    "g4ad.4xlarge",
    "g4ad.8xlarge",
    "g4ad.xlarge",
    "p3.16xlarge",
    "p3.2xlarge",
    "p3.8xlarge",
    "p6e-gb200.36xlarge",
)


class StandInPaginator:
    def __init__(self, pages: list[list[Description]]) -> None:
        self.pages = pages

    def paginate(self) -> Iterable[Mapping[str, Any]]:
        return ({"InstanceTypes": page} for page in self.pages)


class StandInRegion:
    """Stands in for an EC2 client whose region offers only the given types."""

    def __init__(self, *pages: list[Description], regions: Iterable[str] = ()) -> None:
        self.pages, self.regions = list(pages), regions

    def get_paginator(self, operation_name: str, /) -> StandInPaginator:
        assert operation_name == "describe_instance_types"
        return StandInPaginator(self.pages)

    def describe_regions(self, *, AllRegions: bool) -> Mapping[str, Any]:  # noqa: N803
        assert AllRegions
        return {"Regions": [{"RegionName": name} for name in self.regions]}


@pytest.fixture(scope="module")
def descriptions() -> dict[str, Description]:
    """What moto's EC2 answers for each type."""
    return {name: {**found, "InstanceType": name} for name, found in INSTANCE_TYPES.items()}


def test_the_committed_tables_are_byte_for_byte_what_a_refresh_writes(
    tmp_path: Path, descriptions: dict[str, Description]
) -> None:
    path = tmp_path / DATA_FILE.name
    for file in (DATA_FILE, REGIONS_FILE):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    half = len(descriptions) // 2
    pages = [*descriptions.values()][:half], [*descriptions.values()][half:]
    report = update_file(StandInRegion(*pages, regions=read_regions(REGIONS_FILE)), path)
    assert path.read_bytes() == DATA_FILE.read_bytes()
    assert (tmp_path / REGIONS_FILE.name).read_bytes() == REGIONS_FILE.read_bytes()
    assert report == RefreshReport(added=(), removed=(), changed=(), kept=NOT_OFFERED)


def test_new_regions_are_added_in_order_and_one_of_an_unknown_geography_is_not(
    tmp_path: Path, descriptions: dict[str, Description]
) -> None:
    path = tmp_path / "types.csv"
    region = StandInRegion([descriptions["m7g.large"]], regions=["eu-west-9", "eu-west-1", "mars-north-1"])
    assert update_file(region, path).regions == ("eu-west-1", "eu-west-9")
    assert (tmp_path / "regions.csv").read_text() == "region\neu-west-1\neu-west-9\n"
    region.regions = ["af-south-9", "eu-west-9"]
    assert update_file(region, path).regions == ("af-south-9",)
    assert read_regions(tmp_path / "regions.csv") == ("af-south-9", "eu-west-1", "eu-west-9")


@pytest.mark.parametrize("merge", [True, False])
def test_types_that_a_region_lacks_are_kept_or_go_and_are_reported(
    tmp_path: Path, descriptions: dict[str, Description], *, merge: bool
) -> None:
    path, lacking, grown = tmp_path / "types.csv", ("trn2.48xlarge",), copy.deepcopy(descriptions["m7g.large"])
    write_csv([get_instance_type("m7g.large"), get_instance_type("trn2.48xlarge")], path)
    grown["NetworkInfo"]["NetworkCards"][0]["MaximumNetworkInterfaces"] = 4
    report = update_file(StandInRegion([grown, descriptions["x8g.large"]]), path, merge=merge)
    removed, kept = ((), lacking) if merge else (lacking, ())
    assert report == RefreshReport(added=("x8g.large",), removed=removed, changed=("m7g.large",), kept=kept)
    found = read_csv(path)
    assert (list(found), found["m7g.large"].enis) == (["m7g.large", *kept, "x8g.large"], 4)


def test_an_empty_answer_is_rejected_and_the_table_stays(tmp_path: Path) -> None:
    path = tmp_path / "types.csv"
    write_csv([get_instance_type("m7g.large")], path)
    with pytest.raises(OutsideError, match="without a single type"):
        update_file(StandInRegion([]), path, merge=False)
    assert list(read_csv(path)) == ["m7g.large"]


@pytest.mark.parametrize("name", ["p5.48xlarge", "inf2.xlarge", "vt1.3xlarge"])
def test_an_accelerated_type_described_without_its_accelerator_is_rejected(
    name: str, descriptions: dict[str, Description]
) -> None:
    silent = {key: value for key, value in descriptions[name].items() if not key.endswith(("GpuInfo", "NeuronInfo"))}
    for heading in ("InferenceAcceleratorInfo", "FpgaInfo", "MediaAcceleratorInfo"):
        silent.pop(heading, None)
    with pytest.raises(OutsideError, match="without an accelerator"):
        read_instance_type(silent)


def test_a_trainium_known_only_by_its_neuron_info_or_only_as_inference_accelerator_is_neuron(
    descriptions: dict[str, Description],
) -> None:
    neuron_alone = {k: v for k, v in descriptions["inf1.24xlarge"].items() if k != "InferenceAcceleratorInfo"}
    inference_alone = {k: v for k, v in descriptions["inf1.24xlarge"].items() if k != "NeuronInfo"}
    for description in (neuron_alone, inference_alone, descriptions["inf1.24xlarge"]):
        row = read_instance_type(description)
        assert (row.accelerator, row.accelerator_count) == (Accelerator.NEURON, 16)


def test_a_gpu_that_is_not_nvidias_is_other(descriptions: dict[str, Description]) -> None:
    description = copy.deepcopy(descriptions["g5.xlarge"])
    description["GpuInfo"]["Gpus"][0]["Manufacturer"] = "Somebody"
    assert read_instance_type(description).accelerator is Accelerator.OTHER


def test_two_kinds_of_accelerators_in_one_type_are_rejected(descriptions: dict[str, Description]) -> None:
    both = {**descriptions["g5.xlarge"], "NeuronInfo": descriptions["trn1.2xlarge"]["NeuronInfo"]}
    with pytest.raises(OutsideError, match="several kinds of accelerators: neuron, nvidia"):
        read_instance_type(both)


def test_a_description_that_lacks_a_field_is_rejected_by_name(descriptions: dict[str, Description]) -> None:
    with pytest.raises(OutsideError, match=r"m7g\.large lacks 'VCpuInfo'"):
        read_instance_type({key: value for key, value in descriptions["m7g.large"].items() if key != "VCpuInfo"})


def test_the_default_network_card_is_looked_up_by_its_index(descriptions: dict[str, Description]) -> None:
    description = copy.deepcopy(descriptions["p4d.24xlarge"])
    description["NetworkInfo"]["NetworkCards"].reverse()
    description["NetworkInfo"]["NetworkCards"][-1]["MaximumNetworkInterfaces"] = 7
    assert read_instance_type(description).enis == 7
    description["NetworkInfo"]["DefaultNetworkCardIndex"] = 99
    with pytest.raises(OutsideError, match=r"NetworkCards\[99\]"):
        read_instance_type(description)


def test_a_new_architecture_is_an_error_and_not_amd64(descriptions: dict[str, Description]) -> None:
    description = copy.deepcopy(descriptions["m7g.large"])
    description["ProcessorInfo"]["SupportedArchitectures"] = ["riscv64"]
    with pytest.raises(UnknownFactError, match="riscv64"):
        read_instance_type(description)
