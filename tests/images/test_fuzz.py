"""Whatever an index, a config or a layer holds ends in a verdict or in one line, and soon."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import tarfile
import time
import zlib

from hypothesis import given, settings
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.images.layers import LayerBudget
from multiarch.images.model import parse_platform
from multiarch.images.verdict import judge_architectures
from multiarch.images.verify import verify_platform
from multiarch.registry.errors import RegistryError
from multiarch.registry.model import OCI_INDEX, OCI_MANIFEST
from tests.images.archives import File, Folder, HardLink, Symlink, archive
from tests.images.held import REFERENCE, Held
from tests.images.shapes import OCI_CONFIG, OCI_LAYER, platform

FUZZ = settings(deadline=None, max_examples=100)
SECONDS = 1.0
"""The time limit of one verification."""
LIMITS = LayerBudget(unpacked=10_000_000, paths=1000)
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(40)

_NAMES = st.sampled_from(
    ["a", "app", "app/server", "bin/sh", "..", "/", "a/../b", ".wh.app", "app/.wh..wh..opq", "x" * 300, "é"]
)
_PARTS = st.one_of(
    st.builds(
        File, _NAMES, st.sampled_from([ELF, b"#!a\n", b"#!/bin/env x\n", b"", b"x" * 700]), st.sampled_from([0o755, 0])
    ),
    st.builds(Folder, _NAMES),
    st.builds(Symlink, _NAMES, _NAMES),
    st.builds(HardLink, _NAMES, _NAMES),
)
_RECORDS = st.dictionaries(
    st.sampled_from(["size", "path", "linkpath", "GNU.sparse.name", "GNU.sparse.major", "mtime", "x"]),
    st.sampled_from(["9" * 5000, "-1", "0", "", "1e9", "a/b", "²", "x" * 5000]),
    min_size=1,
    max_size=3,
)


@st.composite
def layers(draw: st.DrawFn) -> bytes:
    """A layer that is whole, damaged in some bytes, cut, or anything at all."""
    if draw(st.integers(0, 10)) == 0:
        magic = st.sampled_from([b"", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18"])
        return draw(magic) + draw(st.binary(max_size=1500))
    content = archive(
        draw(st.lists(_PARTS, max_size=5)), form=draw(st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
    )
    if draw(st.booleans()):
        content = _extended(draw(_RECORDS)) + content
    spoiled = bytearray(content)
    for _ in range(draw(st.integers(0, 3))):
        spoiled[draw(st.integers(0, len(spoiled) - 1))] = draw(st.integers(0, 255))
    field, digits = (
        draw(st.sampled_from([slice(124, 136), slice(100, 108)])),
        draw(st.sampled_from([b"", b"-1", b"\x80", b"9"])),
    )
    if digits:
        spoiled[field] = digits.ljust(field.stop - field.start, b"\0")
    if draw(st.booleans()):
        spoiled[148:156] = b" " * 8
        spoiled[148:156] = b"%06o\0 " % sum(spoiled[:512])
    content = bytes(spoiled)[: draw(st.just(None) | st.integers(0, len(spoiled)))]
    packed = {
        "": content,
        "gzip": gzip.compress(content),
        "cut": gzip.compress(content)[:-9],
        "zlib": zlib.compress(content),
    }
    return packed[draw(st.sampled_from(sorted(packed)))]


def _extended(records: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("extended")
        info.pax_headers = records
        tar.addfile(info)
    return out.getvalue().rstrip(b"\0") + bytes(-len(out.getvalue().rstrip(b"\0")) % 512)


_WORDS = st.sampled_from(
    [
        *(
            "/app/server",
            "sh",
            "",
            "app",
            "-c",
            "PATH=/bin:/app",
            "PATH=" + ":" * 200_000,
            "/" + "a/" * 3000,
            "a" * 5000,
        ),
        *(OCI_INDEX, OCI_MANIFEST, OCI_CONFIG, OCI_LAYER, "linux", "arm64", "\x1b[0m", "sha256:1", f"sha256:{1:064x}"),
    ]
)
_KEYS = st.sampled_from(
    [
        *("config", "Config", "Entrypoint", "Cmd", "Env", "WorkingDir", "architecture", "os", "variant", "os.features"),
        *("manifests", "layers", "mediaType", "digest", "size", "platform", "annotations", "artifactType", "fsLayers"),
    ]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=20,
)
_CONFIGS = st.one_of(
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda inner: json.dumps({**platform("linux/arm64"), "config": inner}).encode(),
        st.dictionaries(
            st.sampled_from(["Entrypoint", "Cmd", "Env", "WorkingDir"]), st.lists(_WORDS, max_size=4) | _WORDS
        ),
    ),
    st.binary(max_size=60),
    st.sampled_from([b'{"os": ' + b"9" * 5000 + b"}", b"[" * 20_000, b"null"]),
)


def ended(held: Held, *, deep: bool) -> None:
    """Judge and verify what is held: within the time, and with nothing but RegistryErrors."""
    started = time.monotonic()
    for judgement in asyncio.run(judge_architectures(held, REFERENCE, tuple(Architecture))):
        assert judgement.reason
        assert judgement.reason.isprintable()
        assert "set_int_max_str_digits" not in judgement.reason
    wanted = parse_platform("linux/arm64")
    try:
        done = asyncio.run(verify_platform(held, REFERENCE, wanted, deep=deep, budget=LIMITS, seconds=SECONDS))
        said = [check.reason for check in done.checks]
    except RegistryError as error:
        said = [str(error)]
    assert all(text.isprintable() for text in said)
    assert time.monotonic() - started < 10 * SECONDS


@FUZZ
@given(st.lists(layers(), max_size=3), _CONFIGS, st.booleans())
def test_any_layers_and_any_config_end(content: list[bytes], config: bytes, deep: bool) -> None:  # noqa: FBT001
    held = Held()
    held.index([held.image(config, *content) | {"platform": platform("linux/arm64")}])
    ended(held, deep=deep)


@FUZZ
@given(st.sampled_from([OCI_INDEX, OCI_MANIFEST]), _JSON, _CONFIGS, st.data())
def test_any_index_and_any_manifest_end(media_type: str, content: object, config: bytes, data: st.DataObject) -> None:
    held = Held()
    inner = held.push(json.dumps(content).encode(), media_type)
    rows: list[object] = [inner, held.image(config), content]
    declared = data.draw(_JSON | st.just(platform("linux/arm64")))
    rows += [row | {"platform": declared} for row in rows if isinstance(row, dict)]
    more = data.draw(st.dictionaries(_KEYS, _JSON, max_size=2))
    held.index(data.draw(st.permutations(rows)), **more)
    ended(held, deep=False)
