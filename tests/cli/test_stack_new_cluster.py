"""``stack new`` for a new cluster: what is chosen, gives a file that `stack check` accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.autoscaling.model import Autoscaler
from multiarch.cli.stack.new_cluster import NewClusterOptions
from multiarch.facts.ami_families import AmiFamily
from multiarch.stack.load import load_file
from multiarch.stack.new_file import write_stack
from multiarch.stack.plan import make_plan
from tests.cli.running import type_of_run
from tests.stack.words import TODAY

VPC, SUBNETS = "vpc-0123456789abcdef0", ["subnet-0aaaaaaaaaaaaaaa1", "subnet-0aaaaaaaaaaaaaaa2"]
NETWORKS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "zones": st.sampled_from(["2", "3", "eu-west-1a,eu-west-1b", "eu-west-1a, eu-west-1b, eu-west-1c"]),
            "network": st.sampled_from(["10.1.0.0/16", "10.0.0.0/20"]),
        },
    ),
    st.just({"network": VPC, "subnet": SUBNETS}),
)
REST = st.fixed_dictionaries(
    {},
    optional={
        "autoscaler": st.sampled_from(Autoscaler),
        "spot": st.booleans(),
        "webhook": st.sampled_from(["registry.example.com/multiarch:1", f"r.example.com/x@sha256:{'a' * 64}"]),
        "tag": st.lists(st.sampled_from(["tier=web", "a/b=c=d", "note=é:x", "empty="]), max_size=3, unique=True),
        "ami_family": st.sampled_from([str(AmiFamily.AL2023), str(AmiFamily.BOTTLEROCKET)]),
    },
)


@settings(max_examples=100, deadline=None)
@given(NETWORKS, REST, st.sampled_from(["dev", "prod"]), st.sampled_from([[], ["8.8.8.8/32"]]))
def test_every_choice_is_a_valid_stack_that_says_what_was_chosen(
    network: dict[str, Any], rest: dict[str, Any], env: str, cidrs: list[str]
) -> None:
    if rest.get("autoscaler") is Autoscaler.AUTO_MODE:
        rest.pop("ami_family", None)
    choice = NewClusterOptions(**network, **rest).choose(env)
    text = write_stack("shop", env, choice, region="eu-west-1", owner="shop", cost_center="1", cidrs=cidrs)
    stack = load_file(Path(f"Pulumi.shop-{env}.yaml"), text=text)
    made, spec = make_plan(stack, today=TODAY), stack.spec
    assert made.autoscaling.use == rest.get("autoscaler", "none")
    assert spec.network.vpc_id == (VPC if "subnet" in network else None)
    assert spec.ami_family == rest.get("ami_family", "AL2023")
    assert spec.tags.items() >= {tuple(each.split("=", 1)) for each in rest.get("tag", [])}
    assert (made.admission_webhook is not None) is ("webhook" in rest)
    types = {each.capacity_type for each in made.node_groups}
    types |= {each.capacity_type for pool in made.autoscaling.pools for each in pool.capacities}
    assert ("spot" in types) is rest.get("spot", False)


NEW = ("stack", "new", "--team", "search", "--env", "dev")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--subnet", SUBNETS[0]), "--subnet needs --network with the ID of a VPC."),
        (("--network", VPC), "Give --subnet ID for each zone."),
        (("--network", VPC, "--zones", "2", "--subnet", SUBNETS[0]), "--zones is for a new VPC"),
        (("--network", "10.0.0.0/8"), "error: network.cidr: 10.0.0.0/8 is a /8"),
        (("--zones", "9"), "error: network.zones: "),
        (("--autoscaler", "karp"), "Invalid value for '--autoscaler': 'karp' is not one of 'none'"),
        (("--ami-family", "AL2"), "--ami-family AL2: Use AL2023, Bottlerocket."),
        (("--autoscaler", "auto-mode", "--ami-family", "AL2023"), "--ami-family is not for EKS Auto Mode"),
        (("--tag", "a"), "--tag 'a': Write KEY=VALUE."),
        (("--tag", "team=x"), "error: tags.team: "),
        (("--webhook", "X Y"), "error: admissionWebhook.image: "),
        (("--from-cluster", "shop-prod", "--spot"), "--spot and --from-cluster are mutually exclusive."),
    ],
)
def test_a_choice_that_is_rejected_names_its_option_or_key(
    clone: Path, run: type_of_run, options: tuple[str, ...], says: str
) -> None:
    ran = run(*NEW, *options)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert not (clone / "config" / "stacks" / "Pulumi.search-dev.yaml").exists()
