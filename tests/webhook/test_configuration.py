"""The webhook's configuration file: every problem names file, line, key, value and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from multiarch.errors import ProblemsError
from multiarch.schema.webhook import WebhookConfiguration
from multiarch.webhook.configuration import load_configuration
from tests.webhook.serving import pair


def faults(folder: Path, text: str) -> list[str]:
    file = folder / "webhook.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError) as rejected:
        load_configuration(file)
    return [str(problem).removeprefix(f"{file}:") for problem in rejected.value.problems]


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    file = tmp_path / "webhook.yaml"
    file.write_text("# nothing set\n", encoding="utf-8")
    assert load_configuration(file) == WebhookConfiguration()


def test_a_file_that_sets_everything_is_read(tmp_path: Path) -> None:
    file = tmp_path / "webhook.yaml"
    (tmp_path / "config.json").touch()
    (tmp_path / "ca.pem").write_bytes(pair().authority)
    file.write_text(
        "mode: prefer\narchitectures: [amd64, arm64]\ntaints: [arch=arm64:NoSchedule, spot:NoSchedule]\n"
        "preferredWeight: 50\ndeadlineSeconds: 1\nannotate: true\nwarnings: true\n"
        "cache: {memoryMib: 8, freshSeconds: 60, staleSeconds: 60, failureSeconds: 5}\n"
        f"registries: {{allowed: ['*.dkr.ecr.*.amazonaws.com', '[fd00::1]:5000'],"
        f" allowedNetworks: [10.1.2.0/24, 'fd00::/8'], plainHttp: ['registry:5000'],"
        f" caFiles: [{tmp_path}/ca.pem],"
        f" hostsDir: {tmp_path},"
        f" dockerConfig: {tmp_path}/config.json, pullSecrets: [team-a/registry]}}\n",
        encoding="utf-8",
    )
    found = load_configuration(file)
    assert (found.mode, found.deadline_seconds, found.registries.pull_secrets) == ("prefer", 1, ["team-a/registry"])


def test_what_the_schema_rejects_is_named_with_line_key_and_value(tmp_path: Path) -> None:
    text = (
        "mode: tolerat\n"
        "deadlineSeconds: soon\n"
        "architecture: [amd64]\n"
        "region: eu-west-1\n"
        "cache:\n"
        "  memoryMiB: 5\n"
        "limits:\n"
        "  bodyKib: 1\n"
        "fresh_seconds: 5\n"
    )
    assert faults(tmp_path, text) == [
        "1 mode: mode can't be the string 'tolerat'. Did you mean tolerate? Allowed: tolerate, prefer, pin, observe.",
        "2 deadlineSeconds: deadlineSeconds is the string 'soon'; it takes a number. Write a number, without a unit.",
        "3 architecture: architecture is unknown here. Did you mean architectures?",
        (
            "4 region: region is unknown here. Known here: mode, architectures, taints, preferredWeight, "
            "deadlineSeconds, annotate, warnings, cache, registries, limits."
        ),
        "6 cache.memoryMiB: memoryMiB is unknown here. Did you mean memoryMib?",
        "8 limits.bodyKib: bodyKib is 1; it must be at least 16. Write 16 or more.",
        (
            "9 fresh_seconds: fresh_seconds is unknown here. Known here: mode, architectures, taints, preferredWeight, "
            "deadlineSeconds, annotate, warnings, cache, registries, limits."
        ),
    ]


def test_entries_of_another_form_are_told_theirs(tmp_path: Path) -> None:
    text = "registries: {allowed: ['https://foo', '*'], plainHttp: ['http://x'], pullSecrets: [team/UPPER]}\n"
    assert faults(tmp_path, text) == [
        f"1 registries.{key}[0]: {key}[0] is the string {written!r}; it takes {form}. Change the value."
        for key, written, form in (
            ("allowed", "https://foo", "HOST or HOST:PORT, with * for any characters, as in *.dkr.ecr.*.amazonaws.com"),
            ("plainHttp", "http://x", "HOST or HOST:PORT, such as registry.example.com:5000"),
            ("pullSecrets", "team/UPPER", "NAMESPACE/NAME, such as team-a/registry"),
        )
    ]


def test_values_are_checked_beyond_the_schema(tmp_path: Path) -> None:
    for name in ("ca.pem", "empty.pem"):
        (tmp_path / name).write_bytes(pair().authority if name == "ca.pem" else b"")
    text = (
        "taints: [arch=arm64:NoSchedul]\n"
        "architectures: [arm64, amd64, arm64]\n"
        "registries:\n"
        "  allowedNetworks: [10.1.2.3/24]\n"
        "  hostsDir: /nope\n"
        f"  caFiles: [/dev/null, /dev/zero, {tmp_path}/ca.pem, {tmp_path}/empty.pem]\n"
    )
    assert faults(tmp_path, text) == [
        (
            "1 taints[0]: Unknown taint effect 'NoSchedul'. Write arch=arm64:NoSchedule; effects are NoSchedule, "
            "PreferNoSchedule, NoExecute."
        ),
        "2 architectures[2]: arm64 is named twice. Remove one.",
        "4 registries.allowedNetworks[0]: 10.1.2.3/24 has host bits set. Write a CIDR block such as 10.1.2.0/24.",
        "5 registries.hostsDir: /nope is not a folder. Name a folder like containerd's /etc/containerd/certs.d.",
        "6 registries.caFiles[0]: /dev/null has no valid certificate in PEM. Write certificates to trust into it.",
        (
            "6 registries.caFiles[1]: /dev/zero can't be read: it is a device. "
            "Check the path, and that it is mounted in the pod."
        ),
        (
            f"6 registries.caFiles[3]: {tmp_path}/empty.pem has no valid certificate in PEM. "
            "Write certificates to trust into it."
        ),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- mode: tolerate\n", "1: The file has no keys at the top."),
        ("mode: [\n", "not-yaml"),
        ("mode: observe\nmode: pin\n", "duplicate-key"),
    ],
)
def test_what_is_not_a_mapping_in_yaml_is_rejected(tmp_path: Path, text: str, fault: str) -> None:
    file = tmp_path / "webhook.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError) as rejected:
        load_configuration(file)
    problem = rejected.value.problems[0]
    assert fault in f"{problem} {problem.rule}"


def test_a_missing_file_and_a_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="No such file or directory"):
        load_configuration(tmp_path / "missing.yaml")
    with pytest.raises(ProblemsError, match=r"it is a folder\. Name the file in it\."):
        load_configuration(tmp_path)
