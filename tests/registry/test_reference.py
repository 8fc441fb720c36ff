"""References by the distribution project's grammar; regctl reads them the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from multiarch.registry.reference import InvalidReferenceError, Reference, check_digest, parse_reference
from tests.registry.server import digest_of
from tools import build

SHA256 = digest_of(b"")
SHA512 = digest_of(b"", "sha512")

# What is written, its canonical text, and the shortest that means the same.
GOOD = [
    ("nginx", "docker.io/library/nginx:latest", "nginx:latest"),
    ("nginx:1.27", "docker.io/library/nginx:1.27", "nginx:1.27"),
    ("index.docker.io/nginx", "docker.io/library/nginx:latest", "nginx:latest"),
    ("bitnami/redis", "docker.io/bitnami/redis:latest", "bitnami/redis:latest"),
    ("localhost/app", "localhost/app:latest", "localhost/app:latest"),
    ("localhost:5000/app:v1", "localhost:5000/app:v1", "localhost:5000/app:v1"),
    (f"quay.io/app@{SHA256}", f"quay.io/app@{SHA256}", f"quay.io/app@{SHA256}"),
    (f"app:v1@{SHA512}", f"docker.io/library/app:v1@{SHA512}", f"app:v1@{SHA512}"),
    ("[2001:db8::1]:5000/app", "[2001:db8::1]:5000/app:latest", "[2001:db8::1]:5000/app:latest"),
    ("EXAMPLE/app", "EXAMPLE/app:latest", "EXAMPLE/app:latest"),
    ("a.b/c__d/e---f/g.h_i:J_K.l-m", "a.b/c__d/e---f/g.h_i:J_K.l-m", "a.b/c__d/e---f/g.h_i:J_K.l-m"),
    # Without its registry this would be another image.
    ("docker.io/quay.io/app", "docker.io/quay.io/app:latest", "docker.io/quay.io/app:latest"),
]
BAD = [
    ("", "it is empty"),
    (" nginx", "white space"),
    ("https://quay.io/app", "it must not have a scheme. Write quay.io/app."),
    ("Nginx", "'Nginx' in the repository must be lower case. Write nginx."),
    ("quay.io/Team/app:v1", "'Team' in the repository must be lower case. Write quay.io/team/app:v1."),
    ("nginx:", "the tag is empty"),
    ("nginx:-x", "invalid tag '-x'"),
    (f"nginx:{'x' * 129}", "invalid tag 'xxx"),
    ("a//b", "a part of the repository is empty"),
    ("quay.io/", "a part of the repository is empty"),
    ("[::::]:5000/app", "invalid IPv6 address '[::::]'"),
    ("a___b", "invalid part 'a___b' in the repository"),
    ("-a", "invalid part '-a' in the repository"),
    ("ünicode", "invalid part '\u00fcnicode' in the repository"),
    ("-host.io/app", "invalid registry host '-host.io'"),
    ("host:port/app", "invalid registry host 'host:port'"),
    ("nginx@", "a digest has the form ALGORITHM:HEX"),
    ("nginx@sha256:abc", "a sha256 digest has 64 hexadecimal digits, this one has 3"),
    (f"nginx@md5:{'a' * 32}", "unknown digest algorithm md5"),
    (f"nginx@{SHA256.upper().replace('SHA256', 'sha256')}", "lower case"),
    (f"nginx@{SHA256}@{SHA256}", "a digest has the form ALGORITHM:HEX"),
    (SHA256.removeprefix("sha256:"), "64 hexadecimal digits are an image ID"),
    ("a/" * 200 + "a", "the repository has 401 characters; the limit is 255"),
]


@pytest.mark.parametrize(("text", "canonical", "familiar"), GOOD)
def test_a_good_reference_has_one_canonical_and_one_familiar_text(text: str, canonical: str, familiar: str) -> None:
    reference = parse_reference(text)
    assert str(reference) == canonical
    assert reference.familiar == familiar
    assert parse_reference(canonical) == parse_reference(familiar) == reference


@pytest.mark.parametrize(("text", "fault"), BAD)
def test_a_bad_reference_is_rejected_with_what_is_wrong(text: str, fault: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_reference(text)
    assert fault in str(caught.value)
    assert caught.value.text == text
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def regctl(text: str) -> subprocess.CompletedProcess[str]:
    form = "{{.Registry}}/{{.Repository}}{{if .Tag}}:{{.Tag}}{{end}}{{if .Digest}}@{{.Digest}}{{end}}"
    command: list[str | Path] = [build.ensure("regctl"), "ref", "--format", form, "--", text]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.tools
def test_regctl_reads_the_good_ones_the_same() -> None:
    for text, canonical, _ in GOOD:
        assert regctl(text).stdout.strip() == canonical, text


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z]{2,4}){1,2}", fullmatch=True)
HOSTS = st.builds("{}{}".format, NAMES, st.just("") | st.integers(0, 65535).map(":{}".format))
PARTS = st.from_regex(r"[a-z0-9]{1,5}(([._]|__|-{1,3})[a-z0-9]{1,5}){0,2}", fullmatch=True)
TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
DIGESTS = st.one_of(st.just(SHA256), st.just(SHA512))
REFERENCES = st.builds(
    Reference,
    st.one_of(st.just("docker.io"), st.just("localhost:5000"), HOSTS),
    st.lists(PARTS, min_size=2, max_size=4).map("/".join),
    TAGS,
    st.one_of(st.none(), DIGESTS),
)


@given(REFERENCES)
def test_canonical_and_familiar_texts_are_read_back(reference: Reference) -> None:
    assume(reference.registry != "index.docker.io")
    assert parse_reference(str(reference)) == reference
    assert parse_reference(reference.familiar) == reference


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_a_fault_in_one_line(text: str) -> None:
    try:
        reference = parse_reference(text)
    except InvalidReferenceError as fault:
        assert len(str(fault).splitlines()) == 1  # noqa: PT017 (both outcomes are right)
    else:
        assert parse_reference(str(reference)) == reference
        assert reference.tag or reference.digest


def test_at_names_a_manifest_of_the_same_repository() -> None:
    assert str(parse_reference("nginx:1.27").at(SHA256)) == f"docker.io/library/nginx@{SHA256}"
    assert check_digest(SHA256) is None
