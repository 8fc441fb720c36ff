"""What the webhook does not connect to, whatever a pod's images are called."""

from __future__ import annotations

import asyncio
import json

import pytest

from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from multiarch.webhook.model import DecisionReason, NotFound, PodImage
from tests.registry.hostile import Hostile, http
from tests.webhook.look_ups import ask, looking_up, reason
from tests.webhook.registry_stand_in import serving

TEXTS = {
    "169.254.169.254/latest/meta-data": "169.254.169.254 is link-local or for instance metadata; if a registry is "
    "there, add 169.254.169.254/32 to registries.allowedNetworks",
    "kubernetes.default.svc/x": "kubernetes.default.svc is a cluster-internal name; if it is a registry, add it to "
    "registries.allowed without *, such as kubernetes.default.svc:5000",
}


@pytest.mark.parametrize(("image", "text"), TEXTS.items(), ids=list(TEXTS))
def test_a_rejected_address_is_an_answer_that_names_the_key(image: str, text: str) -> None:
    async def scenario() -> tuple[DecisionReason, str]:
        async with looking_up() as look_ups:
            return reason(await ask(look_ups, image))

    assert asyncio.run(scenario()) == (DecisionReason.REGISTRY_NOT_ALLOWED, text)


def _index(entries: int) -> bytes:
    rows = [
        {
            "mediaType": OCI_MANIFEST,
            "digest": f"sha256:{number:064x}",
            "size": 5,
            "platform": {"os": "linux", "architecture": f"s{number}"},
        }
        for number in range(entries)
    ]
    return json.dumps({"schemaVersion": 2, "manifests": rows}, separators=(",", ":")).encode()


EXPENSIVE = {
    "entries": _index(3000),
    "keys": b"{" + b",".join(b'"%x":0' % number for number in range(24_000)) + b',"manifests":[]}',
    "objects": b'{"manifests":[' + b"{}," * 11_000 + b"{}]}",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("body", EXPENSIVE.values(), ids=list(EXPENSIVE))
def test_images_that_are_expensive_to_read_keep_no_other_pod_waiting(body: bytes) -> None:
    """A pod with 80 of them; meanwhile other pods' images are looked up, one pod after the other."""

    async def scenario() -> int:
        answer = http(200, body, ("Content-Type", OCI_INDEX))
        hostile = Hostile(lambda _: answer)
        async with serving() as registry, hostile.running(), looking_up() as look_ups:
            names = [f"{hostile.host}/team/image{number}" for number in range(80)]
            reading = asyncio.create_task(look_ups.look_up([PodImage(name) for name in names], seconds=20))
            await asyncio.sleep(0.05)
            for answered in range(3):
                assert not reading.done()
                registry.index(f"team/app{answered}")
                answers = await look_ups.look_up([PodImage(registry.name(f"team/app{answered}"))], seconds=30)
                assert not any(isinstance(each, NotFound) for each in answers.values())
                await asyncio.sleep(0.02)
            reading.cancel()
            return len(hostile.asked)

    # There is one processor for all.
    assert asyncio.run(scenario()) > 5
