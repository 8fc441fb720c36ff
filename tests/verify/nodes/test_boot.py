"""Why an instance never became a Node, by lines that real nodes leave behind."""

from __future__ import annotations

import pytest

from multiarch.verify.nodes.boot import find_boot_fault

NOISE = "[    0.000000] Linux version 6.12.40\ncloud-init[1712]: Cloud-init v. 22.2.2 running 'modules:final'\n"

CASES = [
    ("/bin/bash: /usr/bin/kubelet: cannot execute binary file: Exec format error", "another architecture"),
    ("[ 2.1] Kernel panic - not syncing: No working init found.", "the kernel stopped"),
    (
        'kubelet[3]: E1121 reflector.go:205] "Failed to watch" err="Unauthorized" reflector="k8s.io/client-go"',
        "its role may not join",
    ),
    (
        (
            "An error occurred (AccessDeniedException) when calling the DescribeCluster operation: User: x "
            "is not authorized to perform: eks:DescribeCluster"
        ),
        "its role may not join",
    ),
    (
        (
            'kubelet[3]: "Unable to register node" err="Post \\"https://0123.gr7.eu-west-1.eks.amazonaws.com/api/v1/nodes'
            '\\": dial tcp 10.0.1.2:443: i/o timeout"'
        ),
        "no route to the cluster's endpoint",
    ),
    (
        'Connect timeout on endpoint URL: "https://sts.eu-west-1.amazonaws.com/"',
        "no route to STS",
    ),
    (
        "failed to pull image: dial tcp: lookup 602401143452.dkr.ecr.eu-west-1.amazonaws.com: no such host",
        "no route to ECR",
    ),
    ("Exited with error on line 512", "its bootstrap failed"),
    ('nodeadm[1801]: {"level":"fatal","caller":"nodeadm/main.go:36","msg":"Command failed"}', "its bootstrap failed"),
]


@pytest.mark.parametrize(("line", "cause"), CASES)
def test_the_usual_causes_are_named_with_their_line(line: str, cause: str) -> None:
    fault = find_boot_fault(f"{NOISE}{line}\n{NOISE}", source="its boot log")
    assert cause in fault.cause
    assert fault.cause.endswith("says its boot log")
    assert fault.lines == (line,)
    assert fault.hint


def test_the_cause_that_comes_first_in_a_boot_counts() -> None:
    text = "dial tcp: i/o timeout\nExited with error on line 512\n"
    assert "no route" in find_boot_fault(text, source="its console output").cause
    assert "another architecture" in find_boot_fault(f"{text}Exec format error\n", source="its console output").cause


def test_otherwise_the_last_lines_are_shown_without_colours() -> None:
    fault = find_boot_fault(
        "\n".join(f"\x1b[32mline {number}\x1b[0m" for number in range(20)), source="its console output"
    )
    assert fault.cause == "its console output names no known cause; its last lines are below"
    assert fault.lines == tuple(f"line {number}" for number in range(12, 20))


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_no_output_at_all_hints_at_an_image_that_does_not_boot(text: str) -> None:
    fault = find_boot_fault(text, source="its console output")
    assert fault.cause == "its console output is empty"
    assert "another architecture" in fault.hint
