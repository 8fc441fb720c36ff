import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from multiarch.errors import UnknownFactError
from multiarch.facts.architectures import Architecture
from multiarch.facts.instance_types import (
    COLUMNS,
    DATA_FILE,
    Accelerator,
    InstanceType,
    compute_max_pods,
    explain_no_eks_support,
    get_instance_type,
    get_pod_ceiling,
    list_instance_types,
    read_csv,
    recommend_max_pods,
)
from multiarch.stack.json_schema import SCHEMA_FILE

AMD64, ARM64 = Architecture.AMD64, Architecture.ARM64
NONE, NVIDIA, NEURON, OTHER = Accelerator.NONE, Accelerator.NVIDIA, Accelerator.NEURON, Accelerator.OTHER


def test_the_table_holds_every_type_in_order_and_only_once() -> None:
    names = [line.partition(",")[0] for line in DATA_FILE.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(names) >= 1395
    assert names == sorted(set(names))
    assert list(list_instance_types()) == names


def test_every_row_is_sane() -> None:
    bounds: dict[str, Callable[[InstanceType], bool]] = {
        "has a family and a size": lambda row: bool(row.family and row.size),
        "has vCPUs": lambda row: 1 <= row.vcpus <= 1920,
        "has memory": lambda row: 512 <= row.memory_mib <= 32 * 2**20,
        "has interfaces": lambda row: 1 <= row.enis <= 24,
        "has addresses": lambda row: 2 <= row.ipv4_per_eni <= 64,
        "counts accelerators": lambda row: (row.accelerator is NONE) == (row.accelerator_count == 0),
        "is Nitro when it is bare metal": lambda row: row.nitro or not row.bare_metal,
        "is bare metal when it is called so": lambda row: row.bare_metal == row.size.startswith("metal"),
        "has a reason when it is rejected": lambda row: row.eks == (explain_no_eks_support(row) is None),
        "takes the pods of the CNI and one more": lambda row: 4 <= compute_max_pods(row) <= 1514,
    }
    wrong = [
        (row.name, what) for row in list_instance_types().values() for what, holds in bounds.items() if not holds(row)
    ]
    assert wrong == []


def test_a_family_has_one_architecture() -> None:
    by_family: dict[str, set[Architecture]] = {}
    for row in list_instance_types().values():
        by_family.setdefault(row.family, set()).add(row.architecture)
    assert {family for family, found in by_family.items() if len(found) > 1} == set()


def test_graviton_names_that_a_regular_expression_misses_are_arm64_in_the_table() -> None:
    # A digit followed by a g is what such expressions look for. a1 has no g, and these have their g elsewhere.
    for family in ("a1", "im4gn", "is4gen"):
        assert {row.architecture for row in list_instance_types().values() if row.family == family} == {ARM64}
    # And these have a g that is no Graviton's.
    for family in ("g4dn", "g5", "g6", "g6e", "gr6", "g6f"):
        assert {row.architecture for row in list_instance_types().values() if row.family == family} == {AMD64}


def test_every_family_of_gpus_and_accelerators_is_marked_as_one() -> None:
    plain = {row.family for row in list_instance_types().values() if row.accelerator is NONE}
    assert {f for f in plain if f.startswith(("p", "g", "inf", "trn", "dl", "f", "vt"))} == set()


def test_mac_hosts_are_the_only_types_rejected_and_the_reason_is_said() -> None:
    rejected = [row for row in list_instance_types().values() if not row.eks]
    assert {row.family.partition("-")[0] for row in rejected} == {"mac", "mac1", "mac2"}
    reason = explain_no_eks_support(get_instance_type("mac2.metal"))
    assert reason is not None
    assert "macOS" in reason
    assert explain_no_eks_support(get_instance_type("m1.small")) is None


@pytest.mark.parametrize(
    ("name", "how", "pods"),
    [
        # From amazon-eks-ami's eni-max-pods.txt.
        ("a1.medium", {}, 8),
        ("c8a.48xlarge", {}, 1514),
        ("p5.48xlarge", {}, 100),
        ("t3.nano", {}, 4),
        # The examples in the EKS user guide; Xen holds no prefixes.
        ("m5.large", {"prefix_delegation": True}, 110),
        ("m7g.metal", {"prefix_delegation": True}, 250),
        ("m1.small", {"prefix_delegation": True}, 8),
        ("m5.large", {"custom_networking": True}, 20),
        ("t3.nano", {"custom_networking": True, "prefix_delegation": True}, 18),
    ],
)
def test_max_pods_are_those_of_aws(name: str, how: dict[str, bool], pods: int) -> None:
    assert compute_max_pods(get_instance_type(name), **how) == pods


def test_the_ceiling_rises_above_30_vcpus_and_no_type_sits_on_the_line() -> None:
    # AWS writes both "less than 30" and "greater than 30"; no type has exactly 30, so the readings agree.
    assert 30 not in {row.vcpus for row in list_instance_types().values()}
    assert get_pod_ceiling(get_instance_type("m5.4xlarge")) == 110
    assert get_pod_ceiling(get_instance_type("m5.8xlarge")) == 250


@given(st.sampled_from(sorted(list_instance_types())))
def test_prefixes_never_push_the_recommended_number_down(name: str) -> None:
    row = get_instance_type(name)
    single, prefixes = recommend_max_pods(row), recommend_max_pods(row, prefix_delegation=True)
    assert single <= prefixes <= get_pod_ceiling(row)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("m7g.larg", "Did you mean m7g.large or m7g.xlarge or "),
        ("m7g.metal-48xl", "Did you mean m7g.metal? If it is new, run"),
        ("M7G.Large", "Did you mean m7g.large or "),
        ("p6-b100.48xlarge", "Did you mean p6-b300.48xlarge or p6-b200.48xlarge"),
        ("m7g", "Known are m7g.12xlarge, m7g.16xlarge, m7g.2xlarge, "),
        ("zzz", "If it is new, run"),
    ],
)
def test_an_unknown_type_is_an_error_that_says_what_is_wrong(name: str, hint: str) -> None:
    with pytest.raises(UnknownFactError) as caught:
        get_instance_type(name)
    assert hint in caught.value.hint
    assert (caught.value.kind, caught.value.value) == ("EC2 instance type", name)


@settings(deadline=None)
@given(st.sampled_from(sorted(list_instance_types())), st.data())
def test_one_letter_lost_is_answered_with_a_type_or_family_that_exists(name: str, data: st.DataObject) -> None:
    lost = data.draw(st.integers(0, len(name) - 1))
    typo = name[:lost] + name[lost + 1 :]
    assume(typo not in list_instance_types())
    with pytest.raises(UnknownFactError) as caught:
        get_instance_type(typo)
    assert any(word.rstrip("?.") in list_instance_types() for word in caught.value.hint.split())


def test_a_table_with_another_header_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "types.csv"
    for header in ("name,arch", ",".join(COLUMNS[:-1]), ""):
        path.write_text(f"{header}\nm7g.large,arm64\n", encoding="utf-8")
        with pytest.raises(UnknownFactError, match="header"):
            read_csv(path)


@pytest.mark.parametrize("row", ["m7g.large,arm64,2", "m7g.large,aarch64,2,8192,none,0,3,10,1,0,1,1"])
def test_a_row_that_is_cut_or_misspelt_is_rejected(tmp_path: Path, row: str) -> None:
    path = tmp_path / "types.csv"
    path.write_text(f"{','.join(COLUMNS)}\n{row}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"not enough values|not a valid Architecture"):
        read_csv(path)


def test_looking_a_type_up_loads_nothing_heavy() -> None:
    heavy = ("boto3", "botocore", "pydantic", "difflib", "rich", "pulumi", "tempfile")
    program = (
        "import sys\n"
        "from multiarch.facts import addons, ami_families, instance_types, kubernetes, limits\n"
        "assert instance_types.get_instance_type('m7g.large').vcpus == 2\n"
        f"print([name for name in {heavy} if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.strip() == "[]"


def test_a_stack_may_ask_for_the_pods_of_every_instance_type() -> None:
    most = max(compute_max_pods(each) for each in list_instance_types().values() if each.eks)
    schema = json.loads((Path(__file__).parents[2] / SCHEMA_FILE).read_text(encoding="utf-8"))
    group = schema["$defs"]["NodeGroup"]["properties"]["maxPods"]
    assert most == next(each["maximum"] for each in group.get("anyOf", [group]) if "maximum" in each)
