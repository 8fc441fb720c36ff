"""The reader of a node's report."""

from __future__ import annotations

import base64
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.facts.architectures import Architecture
from multiarch.facts.taints import Effect, Taint
from multiarch.images.elf import Elf
from multiarch.verify.on_node.model import NodeReport, ProgramFile, RunningContainer
from multiarch.verify.on_node.report import NodeReportError, parse_report
from tests.verify.on_node import reports
from tests.verify.on_node.reports import AMD64, ARM64, CONFIG, CONTAINER, MANIFEST

_ARM64_ELF = Elf(machine=183, bits=64, little_endian=True)
_AMD64_ELF = Elf(machine=62, bits=64, little_endian=True)


def test_a_report_has_the_system_the_programs_and_the_registration() -> None:
    text = reports.report(
        ("os", "Amazon Linux 2023.8"),
        ("program", "kubelet", "/usr/bin/kubelet", ARM64, "Kubernetes v1.35.2-eks-ecaa3a6", ""),
        (
            "program",
            "containerd",
            "/usr/bin/containerd",
            AMD64,
            "containerd github.com/containerd/containerd/v2 2.1.4 a1",
        ),
        ("program", "runc", "/usr/sbin/runc", ARM64, "", "--version does not end"),
        ("kubelet", "812"),
        ("flag", "--node-labels=team=payments,pool=api"),
        (
            "config",
            "/etc/kubernetes/kubelet/config.json",
            '[{"key":"arch","value":"arm64","effect":"NoSchedule"}]',
            "",
            "",
        ),
    )

    assert parse_report(text) == NodeReport(
        machine="aarch64",
        architecture=Architecture.ARM64,
        kernel="6.12.30-33.93.amzn2023.aarch64",
        distribution="Amazon Linux 2023.8",
        programs=(
            ProgramFile("kubelet", "/usr/bin/kubelet", _ARM64_ELF, "v1.35.2-eks-ecaa3a6"),
            ProgramFile("containerd", "/usr/bin/containerd", _AMD64_ELF, "2.1.4"),
            ProgramFile("runc", "/usr/sbin/runc", _ARM64_ELF, "", "--version does not end"),
        ),
        labels={"team": "payments", "pool": "api"},
        taints=(Taint("arch", "arm64", Effect.NO_SCHEDULE),),
    )


def test_a_container_has_its_image_and_what_its_process_runs() -> None:
    row = (
        "container",
        CONTAINER,
        "registry.example/api:1",
        CONFIG,
        MANIFEST,
        "4711",
        "/app/api",
        AMD64,
        "qemu-x86_64",
        "",
    )

    assert parse_report(reports.report(row)).containers == (
        RunningContainer(CONTAINER, "registry.example/api:1", CONFIG, MANIFEST, "/app/api", _AMD64_ELF, "qemu-x86_64"),
    )


@pytest.mark.parametrize(
    ("config", "manifests", "fault"),
    [
        ("", "", "containerd's record of this container could not be read"),
        (CONFIG, "", f"containerd holds no manifest with the config {CONFIG}"),
        (
            CONFIG,
            "sha256:aa,sha256:bb",
            f"containerd holds several manifests with the config {CONFIG}: sha256:aa, sha256:bb",
        ),
    ],
)
def test_a_container_without_one_manifest_says_why(config: str, manifests: str, fault: str) -> None:
    (container,) = parse_report(
        reports.report(("container", CONTAINER, "a", config, manifests, "1", "/a", ARM64, "", ""))
    ).containers

    assert (container.manifest, container.fault) == ("", fault)


def test_a_node_without_a_kubelet_has_no_labels_but_a_log() -> None:
    found = parse_report(
        reports.report(
            ("program", "kubelet", "", "", "", "kubelet is not on PATH"), ("log", "journal", "exec format error")
        )
    )

    assert (found.labels, found.taints) == (None, None)
    assert found.boot_log == ("journal: exec format error",)
    assert found.programs == (ProgramFile("kubelet", "", None, "", "kubelet is not on PATH"),)


def test_a_script_in_place_of_a_program_is_a_fault() -> None:
    found = parse_report(reports.report(("program", "runc", "/usr/bin/runc", b"#!/bin/sh\nexec runc2".hex(), "", "")))

    assert found.programs[0].elf is None
    assert found.programs[0].fault == "/usr/bin/runc is not a program, but a script for /bin/sh"


def test_taints_are_unknown_if_a_file_could_not_be_read() -> None:
    found = parse_report(reports.report(("kubelet", "8"), ("unread", "/etc/kubelet.json", "registerWithTaints")))

    assert found.taints is None
    assert found.faults == ("can't read registerWithTaints in /etc/kubelet.json",)


def test_taints_of_a_flag_are_known_without_the_file() -> None:
    found = parse_report(
        reports.report(("kubelet", "8"), ("flag", "--register-with-taints=a=b:NoSchedule"), ("unread", "/etc/k", "it"))
    )

    assert found.taints == (Taint("a", "b", Effect.NO_SCHEDULE),)


def test_bottlerocket_answers_with_its_settings() -> None:
    answer = (
        '{"os": {"arch": "aarch64", "pretty_name": "Bottlerocket OS 1.42.0 (aws-k8s-1.35)"}, '
        '"settings": {"kubernetes": {"node-labels": '
        '{"team": "payments"}, "node-taints": {"arch": ["arm64:NoSchedule"], "gpu": [":NoExecute"]}}}}'
    )
    found = parse_report(reports.report(("bottlerocket", answer)))

    assert found.distribution == "Bottlerocket OS 1.42.0 (aws-k8s-1.35)"
    assert found.labels == {"team": "payments"}
    assert [str(taint) for taint in found.taints or ()] == ["arch=arm64:NoSchedule", "gpu:NoExecute"]
    assert found.faults == ("Bottlerocket does not let SSM read its programs",)


@pytest.mark.parametrize("answer", ["Failed to connect", "[]", '{"settings": {"kubernetes": {"node-taints": [1]}}}'])
def test_bottlerocket_that_answers_otherwise_is_a_fault(answer: str) -> None:
    found = parse_report(reports.report(("bottlerocket", answer)))

    assert (found.labels, found.taints) == (None, None)
    assert found.faults


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The output is empty."),
        ("Welcome to payments-17!\n", "The output is not a report: Welcome to payments-17!"),
        ("x" * 100, f"The output is not a report: {'x' * 80}…"),
        ("multiarch-node-report 1 plain\nuname\taarch64\t6.1\n", "The report is truncated: its last line is missing."),
        (reports.report()[:-30], "The report is truncated: its last line is missing."),
        ("multiarch-node-report 1 plain\nuname\nend 6", "The report is damaged: it has 5 of 6 characters."),
        (
            "multiarch-node-report 1 plain\nhello\nend 5",
            "The report is damaged: it does not say the node's architecture.",
        ),
    ],
)
def test_what_is_not_a_whole_report_is_rejected(text: str, message: str) -> None:
    with pytest.raises(NodeReportError) as caught:
        parse_report(text)

    assert caught.value.message == message


def test_a_report_that_decompresses_to_too_much_is_rejected() -> None:
    body = base64.b64encode(gzip.compress(b"\0" * 5_000_000)).decode()

    with pytest.raises(NodeReportError, match="more than 4,000,000 bytes"):
        parse_report(f"multiarch-node-report 1 gzip\n{body}\nend {len(body)}\n")


@given(st.data())
def test_a_damaged_report_is_a_report_or_rejected(data: st.DataObject) -> None:
    text = reports.report(("log", "journal", "exec format error"), ("kubelet", "1"))
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text(max_size=3)) + text[at + data.draw(st.integers(0, 5)) :]
    try:
        found = parse_report(text)
    except NodeReportError:
        return
    assert found.machine
