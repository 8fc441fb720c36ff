"""``multiarch prices`` writes a file that reviews read, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import CLONE
from tests.cli.running import type_of_run
from tests.prices.stand_in import Stand, instance, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Stand]:
    with serving() as stand:
        yield stand


@pytest.fixture
def aws(server: Stand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stand:
    fresh = Stand()
    server.products, server.spot, server.fault = fresh.products, fresh.spot, {}
    server.requests.clear()
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_CONFIG_FILE": str(tmp_path / "no-such-file"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "no-such-file"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return server


def test_prices_of_several_regions_share_a_file(aws: Stand, run: type_of_run) -> None:
    aws.products.append(instance("m7i.large", "0.1008", region="us-east-1"))
    ran = run("prices", "fetch", "--region", "eu-west-1", "--region", "us-east-1", "-o", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "version": "2",
        "kind": "prices-fetch",
        "file": "prices.json",
        "fetched": ["eu-west-1", "us-east-1"],
        "kept": [],
    }
    written = json.loads(Path("prices.json").read_text())
    assert written["regions"]["us-east-1"]["onDemandPerHour"] == {"m7g.large": "0.0816", "m7i.large": "0.1008"}
    assert written["regions"]["eu-west-1"]["perHour"]["extendedSupport"] == "0.5"


def test_recent_prices_are_kept(aws: Stand, run: type_of_run) -> None:
    fetch = ("prices", "fetch", "--region", "eu-west-1")
    assert run(*fetch, "--no-spot").code == 0
    assert not [name for name, _ in aws.requests if name != "GetProducts"]
    before = Path("prices.json").read_bytes()
    aws.requests.clear()
    ran = run(*fetch, "--no-spot", "--max-age", "24")
    assert (ran.code, aws.requests) == (0, [])
    assert ran.err == "prices.json: the prices of eu-west-1 are recent enough; nothing was fetched.\n"
    assert Path("prices.json").read_bytes() == before
    assert run(*fetch, "--max-age", "24").err == ""
    assert aws.requests, "the file had no spot prices"


@pytest.mark.parametrize(
    ("service", "code", "message"),
    [
        ("pricing", "AccessDeniedException", "Use credentials that allow GetProducts"),
        ("ec2", "UnauthorizedOperation", "Use credentials that allow DescribeSpotPriceHistory"),
    ],
)
def test_a_failed_fetch_leaves_the_file_as_it_was(
    aws: Stand, run: type_of_run, service: str, code: str, message: str
) -> None:
    before = (CLONE / "examples" / "prices.json").read_bytes()
    Path("prices.json").write_bytes(before)
    aws.fault[service] = code
    ran = run("prices", "fetch", "--region", "eu-west-1")
    assert (ran.code, ran.out) == (3, "")
    assert message in ran.err
    assert Path("prices.json").read_bytes() == before


def test_the_environments_region_is_the_default(aws: Stand, run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("prices", "fetch").code == 2
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert "eu-west-1" in run("prices", "fetch").out
    assert aws.requests


@pytest.mark.usefixtures("aws")
def test_prices_are_shown_with_what_is_unknown(run: type_of_run) -> None:
    run("prices", "fetch", "--region", "eu-west-1")
    ran = run("prices", "show", "m7g.large", "p5.48xlarge", "--prices", "prices.json")
    assert ran.code == 0
    assert "0.0911" in ran.out
    assert "unknown" in ran.out
    assert "the price list of eu-west-1 has no on-demand price for p5.48xlarge." in ran.out
    data = run("prices", "show", "m7g.large", "p5.48xlarge", "-o", "json").json
    known, unknown = data["regions"][0]["types"]
    assert known == {
        "name": "m7g.large",
        "onDemandPerHour": "0.0911",
        "spotPerHour": {"eu-west-1a": "0.0341", "eu-west-1b": "0.0361"},
        "autoModePerHour": "0.01093",
        "unknown": [],
    }
    assert unknown["onDemandPerHour"] is None
    assert len(unknown["unknown"]) == 2
    ran = run("prices", "show", "--region", "eu-west-2")
    assert (ran.code, "prices.json has no prices of eu-west-2" in ran.err) == (2, True)
