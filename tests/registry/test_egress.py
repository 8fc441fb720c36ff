"""Which servers a client connects to if people who are not trusted choose the names of images."""

from __future__ import annotations

import ipaddress

import pytest

from multiarch.registry.egress import EgressPolicy, parse_address

PUBLIC = EgressPolicy()
ECR = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
LAYERS = "prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com"

# What no pod's image may reach, in the spellings that some part of the system understands.
INSTANCE = ["169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.169.253", "fe80::1", "fd00:ec2::254"]
LOOPBACK = ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "0.1.2.3"]  # noqa: S104
PRIVATE = ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.19.0.1", "fd00::1", "fc00::1"]
RESERVED = [
    "192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "ff02::1", "fec0::1", "2001:db8::1", "2001::1", "100::1", "64:ff9b:1::a00:1", "::127.0.0.1", "::ffff:0:127.0.0.1",
    "5f00::1", "3fff::1",
]  # fmt: skip
EMBEDDED = [
    "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1",
    "2002:a00:1::1", "2002:7f00:1::", "2002:a9fe:a9fe::1",
]  # fmt: skip
SPELLINGS = [
    "2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518", "169.16689662",
    "127.1", "127.0.1", "0x7f.1", "0177.0.0.1", "017700000001", "2130706433", "10.1", "0", "1", "0x0a000001",
    "fe80::1%eth0", "fe80::1%25eth0", "::ffff:a9fe:a9fe", "0:0:0:0:0:0:0:1", "0000:0000::0001", "127.0.0.1.", "[::1]",
    "FD00:EC2::254",
]  # fmt: skip
PUBLIC_ADDRESSES = ["8.8.8.8", "52.46.128.1", "172.32.0.1", "100.128.0.1", "2600:1f18::1", "64:ff9b::808:808"]
INTERNAL = [
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "kubernetes", "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local", "kubernetes.default.svc.cluster.local.",
    "10-0-0-1.default.pod.cluster.local",
    "registry.svc", "KUBERNETES.DEFAULT.SVC",
]  # fmt: skip
NOT_NAMES = [
    "",
    ".",
    "a%2eb",
    "a b",
    "a\nb",
    "é.example",
    "a。svc",
    "127。0。0。1",
    "-a.example",
    "a@b",
    "[::1",
    "a/b",
    "a_b-",
]


def rejected(policy: EgressPolicy, host: str, *, named: bool = False) -> str:
    rejection = policy.host_rejection(host, named=named)
    return "" if rejection is None else rejection.text


@pytest.mark.parametrize("address", [*INSTANCE, *LOOPBACK, *PRIVATE, *RESERVED, *EMBEDDED, *SPELLINGS])
def test_only_public_addresses_are_connected_to(address: str) -> None:
    assert rejected(PUBLIC, address)
    found = parse_address(address.strip("[]").rstrip(".").lower())
    assert found is not None
    assert PUBLIC.address_rejection("storage.example", found)
    assert rejected(PUBLIC, address, named=True)


@pytest.mark.parametrize("address", PUBLIC_ADDRESSES)
def test_public_addresses_are_connected_to(address: str) -> None:
    assert not rejected(PUBLIC, address)


@pytest.mark.parametrize("name", INTERNAL)
def test_names_within_the_cluster_are_only_the_operator_s_to_give(name: str) -> None:
    assert rejected(PUBLIC, name).endswith("is a cluster-internal name")
    assert rejected(EgressPolicy.of(["*.svc", "*"], ["0.0.0.0/0"]), name).endswith("is a cluster-internal name")
    assert not rejected(PUBLIC, name, named=True)
    assert not rejected(EgressPolicy.of([name.rstrip(".")], []), name)


@pytest.mark.parametrize("name", NOT_NAMES)
def test_what_is_not_a_host_s_name_is_rejected(name: str) -> None:
    assert rejected(PUBLIC, name, named=True).endswith("is not a valid host name")


@pytest.mark.parametrize(
    "name", ["quay.io", "registry-1.docker.io.", "a_b.example", "xn--zca.example", ECR, "1.2.3.4.5"]
)
def test_other_names_are_resolved(name: str) -> None:
    assert not rejected(PUBLIC, name)


@pytest.mark.parametrize(
    ("networks", "allowed", "not_allowed"),
    [
        (["10.1.2.0/24"], ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3"], ["10.1.3.1", "::ffff:10.1.3.1"]),
        (["127.0.0.1/32"], ["127.0.0.1", "127.1", "2130706433"], ["127.0.0.2", "::1"]),
        (["fd12::/16", "::1"], ["fd12::9", "::1"], ["fd13::9", "127.0.0.1"]),
        # A wide network does not open instance metadata.
        (["0.0.0.0/0", "::/0"], ["10.0.0.1", "127.0.0.1", "fd00::1", "::1", "224.0.0.1"], [*INSTANCE, "fe80::1%eth0"]),
        (["169.0.0.0/8", "fd00::/8"], ["fd01::1"], ["169.254.169.254", "fd00:ec2::254"]),
        (["169.254.10.0/24", "fd00:ec2::/32"], ["169.254.10.1", "fd00:ec2::254"], ["169.254.169.254"]),
    ],
)
def test_other_addresses_are_allowed_by_their_networks(
    networks: list[str], allowed: list[str], not_allowed: list[str]
) -> None:
    policy = EgressPolicy.of(["*"], networks)
    assert [address for address in allowed if rejected(policy, address)] == []
    assert [address for address in not_allowed if not rejected(policy, address)] == []


@pytest.mark.parametrize(
    "host",
    [
        ECR,
        f"{ECR}.",
        ECR.upper(),
        "123456789012.dkr.ecr-fips.us-east-1.amazonaws.com",
        "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn",
        "123456789012.dkr-ecr.eu-west-1.on.aws",
        LAYERS,
        "prod-eu-west-1-starport-layer-bucket.s3.dualstack.eu-west-1.amazonaws.com",
    ],
)
def test_ecr_may_have_private_addresses_because_vpc_endpoints_do(host: str) -> None:
    for address in PRIVATE:
        assert PUBLIC.address_rejection(host, ipaddress.ip_address(address)) is None
    for address in ["127.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "0.0.0.0", "224.0.0.1"]:  # noqa: S104
        assert PUBLIC.address_rejection(host, ipaddress.ip_address(address)) is not None


@pytest.mark.parametrize(
    "host",
    [
        "ec2-52-1-2-3.compute-1.amazonaws.com",
        "internal-team-1234.eu-west-1.elb.amazonaws.com",
        "team.abcdefghijkl.eu-west-1.rds.amazonaws.com",
        "public.ecr.aws",
        "other.s3.eu-west-1.amazonaws.com",
        "prod-eu-west-1-starport-layer-bucket.s3.us-east-1.amazonaws.com",
        "prod-eu-west-1-starport-layer-bucket.s3.eu-west-1.amazonaws.com.evil.example",
        "prod-xx-west-1-starport-layer-bucket.s3.xx-west-1.amazonaws.com",
        f"{ECR}.evil.example",
        f"evil.{ECR}",
        "quay.io",
    ],
)
def test_names_that_others_can_point_anywhere_may_not_have_private_addresses(host: str) -> None:
    rejection = PUBLIC.address_rejection(host, ipaddress.ip_address("10.0.0.5"))
    assert rejection is not None
    assert rejection.text == f"{host} has the address 10.0.0.5, which is not public"
    assert rejection.hint == "If a registry is there, add 10.0.0.5/32 to registries.allowedNetworks."


@pytest.mark.parametrize(
    ("entry", "allowed", "not_allowed"),
    [
        ("*", ["docker.io", "quay.io:8443", "[2600::1]:5000"], []),
        (
            "docker.io",
            ["docker.io"],
            ["registry-1.docker.io", "docker.io.evil.example", "xdocker.io", "docker.io:5000"],
        ),
        ("quay.io", ["quay.io", "QUAY.IO", "quay.io:443"], ["quay.io:8443", "quayxio"]),
        ("Quay.io:8443", ["quay.io:8443"], ["quay.io", "quay.io:18443"]),
        ("quay.io:*", ["quay.io", "quay.io:8443"], ["quay.io.evil.example"]),
        ("*.dkr.ecr.*.amazonaws.com", [ECR], [f"{ECR}.evil.example", f"{ECR}:8443", "dkr.ecr.x.amazonaws.com"]),
        ("*.example", ["a.example", "a.b.example"], ["example", "a.example:5000", "a.example.evil.test"]),
        ("[2600::1]:5000", ["[2600::1]:5000"], ["[2600::1]", "[2600::2]:5000"]),
        ("1.2.3.4:5000", ["1.2.3.4:5000"], ["1.2.3.4"]),
    ],
)
def test_allowed_registries(entry: str, allowed: list[str], not_allowed: list[str]) -> None:
    policy = EgressPolicy.of([entry], [])
    assert [each for each in allowed if policy.registry_rejection(each) is not None] == []
    assert [each for each in not_allowed if policy.registry_rejection(each) is None] == []


def test_a_registry_that_is_not_allowed_is_named_with_the_key() -> None:
    rejection = EgressPolicy.of(["docker.io"], []).registry_rejection("quay.io")
    assert rejection == ("quay.io is not in registries.allowed", "Add quay.io to registries.allowed.")
