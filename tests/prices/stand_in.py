"""A stand-in for AWS's Pricing API and EC2's spot prices, which moto lacks: an HTTP server on the loopback address.

It filters and pages as GetProducts does, and has the products beside the wanted ones that make filters necessary:
other systems, tenancies, capacity reservations and regions. Every request is recorded.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

PAGE = 2
"""Products per page, less than GetProducts' 100: every answer has several pages."""
_SKU = count(1)


def product(attributes: Mapping[str, str], price: str, unit: str = "Hrs", currency: str = "USD") -> dict[str, Any]:
    """A product as the price list has it, with reserved terms beside the on-demand one."""
    sku = f"SKU{next(_SKU):08}"
    rate = {"rateCode": f"{sku}.JRTCKXETXF.6YS6EN2CT7", "unit": unit, "pricePerUnit": {currency: price}}
    reserved = {"rateCode": f"{sku}.R", "unit": "Hrs", "pricePerUnit": {currency: "0.0000000001"}}
    return {
        "product": {"productFamily": attributes.get("productFamily", ""), "attributes": dict(attributes), "sku": sku},
        "serviceCode": attributes["servicecode"],
        "terms": {
            "OnDemand": {f"{sku}.JRTCKXETXF": {"priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": rate}}},
            "Reserved": {f"{sku}.R": {"priceDimensions": {f"{sku}.R.1": reserved}}},
        },
        "version": "20261120000000",
        "publicationDate": "2026-11-20T00:00:00Z",
    }


def instance(name: str, price: str, region: str = "eu-west-1", **other: str) -> dict[str, Any]:
    """An on-demand Linux instance with shared tenancy, but for what ``other`` says."""
    metal = name.endswith(".metal")
    currency = other.pop("currency", "USD")
    attributes = {
        "servicecode": "AmazonEC2",
        "productFamily": "Compute Instance (bare metal)" if metal else "Compute Instance",
        "regionCode": region,
        "instanceType": name,
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "tenancy": "Dedicated" if metal else "Shared",
        "usagetype": f"EU-BoxUsage:{name}",
    }
    return product(attributes | other, price, currency=currency)


def other(service: str, usage: str, price: str, unit: str, region: str = "eu-west-1", **more: str) -> dict[str, Any]:
    """A product that is no instance."""
    return product({"servicecode": service, "regionCode": region, "usagetype": usage, **more}, price, unit)


def ireland() -> list[dict[str, Any]]:
    """The price list of eu-west-1, as far as tests look."""
    return [
        instance("m7g.large", "0.0911000000"),
        instance("m7i.large", "0.1124000000"),
        instance("m7g.xlarge", "0.1822000000"),
        instance("c7g.metal", "2.6000000000"),
        instance("m7g.large", "0.1500000000", operatingSystem="RHEL"),
        instance("m7g.large", "0.1000000000", tenancy="Dedicated"),
        instance("m7g.large", "0.0000000000", capacitystatus="AllocatedCapacityReservation"),
        instance("m7g.large", "0.0816000000", region="us-east-1"),
        instance("p5.48xlarge", "31.4640000000", marketoption="CapacityBlock"),
        other("AmazonEKS", "EU-AmazonEKS-Hours:perCluster", "0.1000000000", "Hours"),
        other("AmazonEKS", "EU-AmazonEKS-Hours:extendedSupport", "0.5000000000", "Hours"),
        other("AmazonVPC", "EU-VpcEndpoint-Hours", "0.0110000000", "Hrs"),
        other("AmazonVPC", "EU-VpcEndpoint-Bytes", "0.0100000000", "GB"),
        other("AmazonVPC", "EU-PublicIPv4:InUseAddress", "0.0050000000", "Hrs"),
        other("AmazonVPC", "EU-PublicIPv4:IdleAddress", "0.0060000000", "Hrs"),
        other("AmazonEKS", "EU-EKS-Auto:m7g.large-management-hours", "0.0109300000", "Hours"),
        other("AmazonEKS", "EU-Fargate-vCPU-Hours:perCPU", "0.0404800000", "hours"),
        other("AmazonEC2", "EU-NatGateway-Hours", "0.0480000000", "Hrs", productFamily="NAT Gateway"),
        other("AmazonEC2", "EU-NatGateway-Bytes", "0.0480000000", "GB", productFamily="NAT Gateway"),
    ]


Spot = tuple[str, str, str, str]
"""Instance type, zone, price, time."""

SPOT: list[Spot] = [
    ("m7g.large", "eu-west-1a", "0.034100", "2026-11-22T08:00:00.000Z"),
    ("m7g.large", "eu-west-1b", "0.036100", "2026-11-22T07:00:00.000Z"),
    ("m7g.large", "eu-west-1a", "0.039900", "2026-11-21T08:00:00.000Z"),
    ("m7i.large", "eu-west-1a", "0.051000", "2026-11-22T06:00:00.000Z"),
]


@dataclass
class Stand:
    """What the stand-in answers with. ``fault`` is an error code that every request to that service gets."""

    products: list[dict[str, Any]] = field(default_factory=ireland)
    spot: list[Spot] = field(default_factory=lambda: list(SPOT))
    fault: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    url: str = ""

    def get_products(self, body: Mapping[str, Any]) -> tuple[int, bytes]:
        self.requests.append(("GetProducts", body))
        if code := self.fault.get("pricing"):
            return 400, json.dumps({"__type": code, "Message": f"it is {code}"}).encode()
        wanted = {each["Field"]: each["Value"] for each in body["Filters"]}
        assert {each["Type"] for each in body["Filters"]} == {"TERM_MATCH"}
        found = [
            each
            for each in self.products
            if each["serviceCode"] == body["ServiceCode"]
            and all(each["product"]["attributes"].get(name) == value for name, value in wanted.items())
        ]
        start = int(body.get("NextToken", "0"))
        answer: dict[str, Any] = {
            "FormatVersion": "aws_v1",
            "PriceList": [json.dumps(each) for each in found[start : start + PAGE]],
        }
        if start + PAGE < len(found):
            answer["NextToken"] = str(start + PAGE)
        return 200, json.dumps(answer).encode()

    def spot_history(self, form: Mapping[str, Any]) -> tuple[int, bytes]:
        self.requests.append(("DescribeSpotPriceHistory", form))
        if code := self.fault.get("ec2"):
            error = f"<Errors><Error><Code>{code}</Code><Message>it is {code}</Message></Error></Errors>"
            return 403, f"<Response>{error}<RequestID>1</RequestID></Response>".encode()
        start = int(form.get("NextToken", ["0"])[0])
        rows = "".join(
            f"<item><instanceType>{name}</instanceType><availabilityZone>{zone}</availabilityZone>"
            f"<productDescription>Linux/UNIX</productDescription><spotPrice>{escape(price)}</spotPrice>"
            f"<timestamp>{when}</timestamp></item>"
            for name, zone, price, when in self.spot[start : start + PAGE]
        )
        token = str(start + PAGE) if start + PAGE < len(self.spot) else ""
        space = "http://ec2.amazonaws.com/doc/2016-11-15/"
        return 200, (
            f'<DescribeSpotPriceHistoryResponse xmlns="{space}"><spotPriceHistorySet>{rows}</spotPriceHistorySet>'
            f"<nextToken>{token}</nextToken></DescribeSpotPriceHistoryResponse>"
        ).encode()


@contextmanager
def serving() -> Iterator[Stand]:
    """Serve on a free port until the end."""
    stand = Stand()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            if self.headers.get("X-Amz-Target", "").endswith("GetProducts"):
                status, answer = stand.get_products(json.loads(body))
            else:
                status, answer = stand.spot_history(parse_qs(body))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield stand
        finally:
            server.shutdown()
            thread.join()
