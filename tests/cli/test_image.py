"""``multiarch image`` against a real registry."""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NoReturn

import pytest

from multiarch.cli.image.inspect import HELP as INSPECT_HELP
from multiarch.cli.image.verify import HELP as VERIFY_HELP
from tests.cli.running import type_of_run
from tests.images.archives import File, Folder, packed
from tests.images.binaries import program
from tests.images.shapes import UNKNOWN, Repository, described, platform
from tests.registry import server
from tests.registry.server import Server
from tests.test_docs import shape, text_of

pytestmark = pytest.mark.registry

START = {"Entrypoint": ["/app/server"]}
EXAMPLE = "docker/library/busybox"
_NUMBERS = count()


@pytest.fixture(scope="module")
def registry() -> Iterator[Server]:
    # Built here, because the tests' own XDG_CACHE_HOME would give Go an empty cache.
    program("linux/amd64")
    program("linux/arm64")
    with server.running(lenient=True) as running:
        yield running


@pytest.fixture
def repository(registry: Server) -> Repository:
    return Repository(registry, f"cli/image-{next(_NUMBERS)}")


def app(target: str) -> bytes:
    return packed(Folder("app"), File("app/server", program(target)))


def built(repository: Repository, arm64: str = "linux/arm64") -> str:
    """An index for both architectures with an attestation; ``arm64`` is what its binary really is."""
    images = [
        described(
            repository.image(f"linux/{name}", app(target), config=START),
            platform=platform(f"linux/{name}{'/v8' if name == 'arm64' else ''}"),
        )
        for name, target in (("amd64", "linux/amd64"), ("arm64", arm64))
    ]
    mark = repository.artifact("application/vnd.oci.image.config.v1+json", "application/vnd.in-toto+json")
    notes = {"vnd.docker.reference.type": "attestation-manifest"}
    entries = [*images, described(mark, platform=UNKNOWN, annotations=notes)]
    repository.index(entries, annotations={"org.opencontainers.image.title": "a \x1b[31mtitle"})
    return f"{repository.server.host}/{repository.name}:latest"


def test_inspect_shows_platforms_and_verdicts(run: type_of_run, repository: Repository) -> None:
    ran = run("image", "inspect", built(repository))
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].endswith(f"/{repository.name}:latest")
    assert re.fullmatch(r"index sha256:[0-9a-f]{64}, \d+ bytes, application/vnd.oci.image.index.v1\+json", lines[1])
    assert lines[2] == "org.opencontainers.image.title=a \\x1b[31mtitle"
    assert re.search(r"^ *linux/arm64 +v8 +sha256:[0-9a-f]{64} +\d+$", ran.out, re.MULTILINE)
    assert re.search(r"^ *- +sha256:[0-9a-f]{64} +\d+ +attestation$", ran.out, re.MULTILINE)
    assert re.search(r"^ *amd64 +supported +index has linux/amd64$", ran.out, re.MULTILINE)
    assert re.search(r"^ *arm64 +supported +index has linux/arm64$", ran.out, re.MULTILINE)


def test_inspect_as_json_has_everything(run: type_of_run, repository: Repository) -> None:
    told = run("image", "inspect", built(repository), "--output", "json").json
    assert (told["kind"], told["imageKind"], told["version"]) == ("image-inspection", "index", "2")
    assert [each["kind"] for each in told["entries"]] == ["image", "image", "attestation"]
    assert told["entries"][1]["platform"]["raw"] == "linux/arm64/v8"
    assert told["verdicts"][1]["digest"] == told["entries"][1]["digest"]
    assert told["annotations"][0]["value"] == "a \x1b[31mtitle"


def test_every_key_of_the_json_is_described(run: type_of_run, repository: Repository) -> None:
    described_keys = set(
        re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text_of("docs/reference/json-output.md"))))
    )
    name = built(repository, arm64="linux/amd64")
    told = run("image", "inspect", name, "-o", "json").json
    assert shape(told) <= described_keys
    told = run("image", "verify", name, "--platform", "linux/arm64", "--deep", "-o", "json").json
    assert shape(told) <= described_keys
    assert told["elfFiles"]["foreign"]


def test_raw_prints_the_bytes(repository: Repository) -> None:
    name = built(repository)
    command = [sys.executable, "-m", "multiarch.cli", "image", "inspect", name, "--raw"]
    done = subprocess.run(command, capture_output=True, check=True)
    path = f"/v2/{repository.name}/manifests/latest"
    accept = {"Accept": "application/vnd.oci.image.index.v1+json"}
    assert done.stdout == repository.server.request("GET", path, headers=accept, expect=200)[2]
    assert done.stderr == b""


def test_an_image_that_holds_what_it_says_is_verified(run: type_of_run, repository: Repository) -> None:
    ran = run("image", "verify", built(repository), "--platform", "linux/arm64", "--deep")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].endswith("latest for linux/arm64: supported")
    assert "1 visible ELF file, 0 hidden by upper layers" in ran.out


def test_timeout_bounds_a_name_that_is_not_found(run: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> NoReturn:
        time.sleep(20)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", never)
    started = time.monotonic()
    ran = run("image", "inspect", "registry.example.com/a:1", "--timeout", "0.5")
    assert (ran.code, ran.out) == (3, "")
    assert "did not finish within 0" in ran.err
    assert time.monotonic() - started < 10


def test_an_image_that_lies_is_a_finding(run: type_of_run, repository: Repository) -> None:
    name = built(repository, arm64="linux/amd64")
    ran = run("image", "verify", name, "--platform", "linux/arm64", "--deep")
    assert ran.code == 1
    assert re.search(r"^ *entry point +unsupported +/app/server is amd64$", ran.out, re.MULTILINE)
    assert re.search(r"^ */app/server +amd64 +sha256:[0-9a-f]{64}$", ran.out, re.MULTILINE)
    assert ran.err == f"{name} does not match linux/arm64.\n"
    told = run("image", "verify", name, "--platform", "linux/arm64", "--deep", "-o", "json")
    assert (told.code, told.json["verdict"]) == (1, "unsupported")
    assert told.json["elfFiles"]["foreign"][0]["path"] == "/app/server"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("inspect", "No Image"), 2, "invalid image reference"),
        (("inspect", "{host}/none:1"), 3, "not found"),
        (("inspect", "127.0.0.1:1/none:1", "--timeout", "2"), 3, "unreachable"),
        (("inspect", "{host}/none:1", "--ca-file", "missing.pem"), 2, "missing.pem"),
        (("verify", "{host}/none:1", "--platform", "linux/arm64"), 3, "not found"),
        (("verify", "{host}/none:1", "--platform", "windows/amd64"), 2, "Can't verify"),
    ],
)
def test_failures_are_one_line_and_their_exit_code(
    run: type_of_run, registry: Server, arguments: tuple[str, ...], code: int, words: str
) -> None:
    ran = run("image", *(argument.format(host=registry.host) for argument in arguments))
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert code != 3 or len(ran.err.splitlines()) == 1


EXAMPLES = re.findall(r"^  (multiarch .+)$", INSPECT_HELP + "\n" + VERIFY_HELP, re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_help_texts_run(registry: Server, tmp_path: Path, example: str) -> None:
    """Against the real registry here, which stands in as a mirror for the one they name."""
    repository = Repository(registry, EXAMPLE)
    built(repository)
    command = re.sub(r"(busybox):\S+", rf"\1:latest --hosts-dir {shlex.quote(str(tmp_path))}", example)
    folder = tmp_path / "public.ecr.aws"
    folder.mkdir()
    host = f'server = "{registry.url}"\n[host."{registry.url}"]\ncapabilities = ["pull", "resolve"]\n'
    (folder / "hosts.toml").write_text(host)
    command = command.replace("multiarch ", f"{shlex.quote(sys.executable)} -m multiarch.cli ", 1)
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "json" not in example or json.loads(done.stdout)
