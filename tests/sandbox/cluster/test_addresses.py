"""Addresses of a cluster, and the port through which its pods reach this machine."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import closing
from pathlib import Path

from multiarch.facts.architectures import Architecture
from sandbox.cluster import addresses
from sandbox.cluster.addresses import Gateway

FOLDER = Path("/tmp/multiarch-cluster-example")  # noqa: S108 (never made)


def test_networks_of_pods_and_services_are_apart_and_the_first_service_is_this_machine() -> None:
    networks = [ipaddress.ip_network(addresses.of_pods(FOLDER, each)) for each in Architecture]
    services = ipaddress.ip_network(addresses.of_services(FOLDER))
    assert not any(a.overlaps(b) for a in (*networks, services) for b in networks if a is not b)
    assert ipaddress.ip_address(addresses.for_pods(FOLDER)) == next(services.hosts())


def test_bytes_go_both_ways_and_the_end_of_one_way_leaves_the_other() -> None:
    with closing(Gateway("127.0.0.1")) as gateway, socket.create_server(("127.0.0.1", 0)) as target:
        port = gateway.forward(target.getsockname()[1])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            served, _ = target.accept()
            with served:
                client.sendall(b"question")
                client.shutdown(socket.SHUT_WR)
                assert b"".join(iter(lambda: served.recv(100), b"")) == b"question"
                served.sendall(b"answer" * 50_000)
            assert len(b"".join(iter(lambda: client.recv(65536), b""))) == 300_000
