"""Let botocore parse each of its files once in a process: each session of boto3 parses them anew, EC2's in 0.1 s."""

from __future__ import annotations

import functools

from botocore import loaders


@functools.cache
def parse_once() -> None:
    """Keep what botocore parses, for all sessions of this process and for the processes that are forked from it.

    botocore changes nothing of it but merges a service's extras into its model, which gives the same model each time
    (botocore, ``loaders.py``, ``ExtrasProcessor``).
    """
    loaders.JSONFileLoader.load_file = staticmethod(functools.cache(loaders.JSONFileLoader().load_file))
