"""Clients of boto3 for the sandbox's AWS. Most commands do without boto3, so it is loaded with the first client."""

from __future__ import annotations

import functools
import threading
from typing import Any

from botocore import loaders

_LOCK = threading.Lock()
"""boto3's sessions are not made for several threads."""


@functools.cache
def parse_once() -> None:
    """Let botocore parse each of its files once, for this process and those that are forked from it: EC2's takes 0.1 s.

    botocore changes nothing of it but merges a service's extras into its model, which gives the same model each time
    (botocore, ``loaders.py``, ``ExtrasProcessor``).
    """
    loaders.JSONFileLoader.load_file = staticmethod(functools.cache(loaders.JSONFileLoader().load_file))


def get_client(service: str, url: str, region: str) -> Any:  # noqa: ANN401 (boto3 makes its clients at run time)
    """Return the client of a service at the AWS server with this URL, made once; credentials are made up."""
    with _LOCK:
        return _make_client(service, url, region)


@functools.cache
def _make_client(service: str, url: str, region: str) -> Any:  # noqa: ANN401 (as above)
    from botocore.config import Config  # noqa: PLC0415  (as boto3)

    config = Config(retries={"max_attempts": 2}, connect_timeout=5, read_timeout=60, proxies={})
    return _make_session(region).client(service, endpoint_url=url, config=config)


@functools.cache
def _make_session(region: str) -> Any:  # noqa: ANN401 (as above)
    import boto3  # noqa: PLC0415  (see above)

    parse_once()
    return boto3.session.Session("sandbox", "sandbox", region_name=region)
