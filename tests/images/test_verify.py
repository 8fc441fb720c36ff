"""Images held to what they say, with real programs for other machines in a real registry."""

from __future__ import annotations

from typing import Any

import pytest

from multiarch.errors import MultiarchError
from multiarch.images.model import Verdict, parse_platform
from multiarch.images.verify import ImageVerification, verify_platform
from multiarch.registry.errors import RegistryError, RegistryReason
from tests.images.archives import File, Folder, HardLink, Part, Symlink, packed
from tests.images.asking import asked, reference, verified
from tests.images.binaries import program
from tests.images.shapes import OCI_LAYER, Repository, described, platform
from tests.registry.server import digest_of

START = {"Entrypoint": ["/app/server"]}


def app(target: str) -> bytes:
    """A layer with a program as builders make it."""
    return packed(Folder("app"), File("app/server", program(target)))


def reasons(got: ImageVerification) -> dict[str, tuple[str, str]]:
    return {check.subject: (str(check.verdict), check.reason) for check in got.checks}


def pushed(repository: Repository, says: str, *layers: bytes, declares: str | None = None, **config: Any) -> None:
    """An index of one image."""
    made = repository.image(says, *layers, config=config or START)
    repository.index([described(made, platform=platform(declares or says))])


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
@pytest.mark.parametrize("deep", [False, True])
def test_an_image_that_is_what_it_says_is_proven(repository: Repository, architecture: str, *, deep: bool) -> None:
    pushed(repository, f"linux/{architecture}", app(f"linux/{architecture}"))
    got = verified(repository, f"linux/{architecture}", deep=deep)
    assert got.verdict is Verdict.SUPPORTED
    assert reasons(got) == {
        "index": ("supported", f"index has linux/{architecture}"),
        "config": ("supported", f"declares linux/{architecture}"),
        "entry point": ("supported", f"/app/server is {architecture}"),
    } | ({"layers": ("supported", "1 ELF file, none of another architecture")} if deep else {})


def test_an_index_that_lies_is_found_out(repository: Repository) -> None:
    """Its entry declares arm64; config and binary are amd64's."""
    pushed(repository, "linux/amd64", app("linux/amd64"), declares="linux/arm64")
    got = verified(repository, "linux/arm64")
    assert got.verdict is Verdict.UNSUPPORTED
    assert reasons(got) == {
        "index": ("supported", "index has linux/arm64"),
        "config": ("unsupported", "declares linux/amd64, but the index declares linux/arm64"),
        "entry point": ("unsupported", "/app/server is amd64"),
    }


def test_a_config_that_lies_with_its_index_is_found_out_by_the_binary(repository: Repository) -> None:
    pushed(repository, "linux/arm64", app("linux/amd64"))
    got = verified(repository, "linux/arm64")
    assert got.verdict is Verdict.UNSUPPORTED
    assert reasons(got)["config"] == ("supported", "declares linux/arm64")
    assert reasons(got)["entry point"] == ("unsupported", "/app/server is amd64")


@pytest.mark.parametrize(
    ("target", "words"),
    [("linux/arm", "arm, 32-bit"), ("linux/386", "386, 32-bit"), ("linux/riscv64", "riscv, 64-bit")],
)
def test_a_single_manifest_that_lies_is_found_out(repository: Repository, target: str, words: str) -> None:
    repository.image("linux/arm64", app(target), tag="latest", config=START)
    got = verified(repository, "linux/arm64")
    assert reasons(got) == {
        "config": ("supported", "single manifest for linux/arm64"),
        "entry point": ("unsupported", f"/app/server is {words}"),
    }


def test_a_variant_is_asked_for_exactly(repository: Repository) -> None:
    pushed(repository, "linux/amd64/v3", app("linux/amd64"))
    assert verified(repository, "linux/amd64/v3").verdict is Verdict.SUPPORTED
    assert reasons(verified(repository, "linux/amd64/v2"))["index"] == ("unsupported", "has no linux/amd64/v2")
    assert verified(repository, "linux/amd64").verdict is Verdict.UNKNOWN


def test_the_last_layer_wins_and_lower_ones_are_not_fetched_when_it_answers(repository: Repository) -> None:
    repository.image("linux/arm64", app("linux/amd64"), app("linux/arm64"), tag="latest", config=START)
    fetched: list[int] = []
    got = asked(
        lambda registry: verify_platform(
            registry,
            reference(repository),
            parse_platform("linux/arm64"),
            progress=lambda done, _: fetched.append(done),
        )
    )
    assert got.verdict is Verdict.SUPPORTED
    assert fetched[-1] == len(app("linux/arm64"))


def test_a_script_is_followed_to_the_binary_of_its_interpreter(repository: Repository) -> None:
    base = packed(
        Symlink("bin", "usr/bin"),
        File("usr/bin/env", program("linux/arm64")),
        File("usr/bin/python3.13", program("linux/amd64")),
        Symlink("usr/bin/python3", "python3.13"),
    )
    script = packed(File("usr/local/bin/start", b"#!/usr/bin/env -S python3 -u\n"))
    pushed(repository, "linux/arm64", base, script, Cmd=["start"], Env=["PATH=/usr/local/bin:/bin"])
    assert reasons(verified(repository, "linux/arm64"))["entry point"] == (
        "unsupported",
        "/usr/bin/python3.13 is amd64, via /usr/local/bin/start, /usr/bin/env",
    )


def test_a_shell_text_proves_the_shell_and_says_what_it_does_not_prove(repository: Repository) -> None:
    busybox = packed(File("bin/busybox", program("linux/arm64")), HardLink("bin/sh", "bin/busybox"))
    pushed(repository, "linux/arm64", busybox, Entrypoint=["/bin/sh", "-c", "exec app"])
    assert reasons(verified(repository, "linux/arm64"))["entry point"] == (
        "supported",
        "/bin/sh is arm64; what the shell starts is not checked",
    )


@pytest.mark.parametrize(
    ("parts", "config", "reason"),
    [
        ([], {"Env": []}, "the config has no command; the pod's command decides"),
        ([], START, "/app not found"),
        ([File("app/server", b"text", 0o644)], START, "/app/server is a file that is not executable"),
        ([File("app/server", b"text")], START, "/app/server is neither an ELF file nor a script"),
        ([File("app/server", b"\x00asm\x01")], START, "/app/server is neither an ELF file nor a script"),
        ([File("app/server", b"#!/bin/sh\n")], START, "/bin not found, via /app/server"),
        ([File("app/.wh.server")], START, "no executable /app/server"),
    ],
)
def test_what_can_t_be_proven_is_unknown_with_the_reason(
    repository: Repository, parts: list[Part], config: dict[str, Any], reason: str
) -> None:
    lower = [packed(Folder("app"), File("app/server", program("linux/arm64")))] if "wh" in str(parts) else []
    pushed(repository, "linux/arm64", *lower, packed(*parts), **config)
    got = verified(repository, "linux/arm64")
    assert got.verdict is Verdict.UNKNOWN
    assert reasons(got)["entry point"] == ("unknown", reason)


def test_deep_lists_files_of_another_architecture_and_those_that_are_hidden(repository: Repository) -> None:
    lower = packed(
        File("lib/a.so", program("linux/amd64"), 0o644),
        File("lib/b.so", program("linux/amd64"), 0o644),
        File("lib/c.so", program("linux/amd64"), 0o644),
        File("old/tool", program("linux/arm")),
        File("probe.o", b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x01\x00\xf7\x00", 0o644),
    )
    upper = packed(
        File("lib/b.so", program("linux/arm64"), 0o644),
        File("lib/.wh.c.so"),
        File("old/.wh..wh..opq"),
        Folder("app"),
        File("app/server", program("linux/arm64")),
    )
    pushed(repository, "linux/arm64", lower, upper)
    got = verified(repository, "linux/arm64", deep=True)
    assert got.verdict is Verdict.UNSUPPORTED
    assert got.scan is not None
    assert [(f.path, f.found, f.hidden) for f in got.scan.foreign] == [
        ("/lib/a.so", "amd64", False),
        ("/lib/b.so", "amd64", True),
        ("/lib/c.so", "amd64", True),
        ("/old/tool", "arm, 32-bit", True),
    ]
    assert (got.scan.files, got.scan.hidden) == (4, 3)
    assert reasons(got)["layers"] == ("unsupported", "1 of 4 ELF files is of another architecture")


def test_a_layer_that_can_t_be_read_is_unknown(repository: Repository) -> None:
    for tag, (layer, kind, reason) in {
        "cut": (app("linux/arm64")[:-9], OCI_LAYER, "ended before the end-of-stream marker"),
        "text": (b"x" * 600, OCI_LAYER, "invalid tar header"),
        "encrypted": (b"x", f"{OCI_LAYER}+encrypted", "unsupported media type"),
    }.items():
        repository.image("linux/arm64", layer, tag=tag, config=START, layer_type=kind)
        for deep in (False, True):
            got = verified(repository, "linux/arm64", tag, deep=deep)
            assert got.verdict is Verdict.UNKNOWN
            assert reason in reasons(got)["entry point"][1]
            assert not deep or reason in reasons(got)["layers"][1]


def test_a_layer_that_is_not_in_the_registry_is_the_registry_s_failure(repository: Repository) -> None:
    layer = app("linux/arm64")
    repository.image("linux/arm64", layer, tag="latest", config=START)
    path = f"/v2/{repository.name}/blobs/{digest_of(layer)}"
    repository.server.request("DELETE", path, repository=repository.name, expect=202)
    with pytest.raises(RegistryError) as caught:
        verified(repository, "linux/arm64")
    assert caught.value.reason is RegistryReason.NOT_FOUND


@pytest.mark.parametrize("text", ["linux/arm/v7", "windows/amd64", "linux/riscv64"])
def test_other_platforms_than_the_two_are_rejected(repository: Repository, text: str) -> None:
    with pytest.raises(MultiarchError, match="Can't verify"):
        verified(repository, text)
