"""Judgement of what is installed on this machine: Python, the engine with its plugins, and programs on PATH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from multiarch.doctor.model import CheckResult, CheckState, judge_found

PYTHON = (3, 11, 5)
ENGINE = (3, 259, 0)
"""The oldest versions that the tests use."""
LANGUAGE_HOST = "pulumi-language-python"
SDKS = ("aws", "eks", "kubernetes")
"""Pulumi's packages; each needs the plugin of its name and version."""
BROUGHT_BY_EKS: Mapping[str, str] = {"aws": "7.25.0", "kubernetes": "4.19.0"}
"""The plugins of the component's own resources. Source: pulumi-eks, nodejs/eks/package.json."""
AWS_CLI = {1: (1, 24, 0), 2: (2, 7, 0)}
"""The oldest AWS CLI that pulumi-eks takes, by major version. Source: pulumi-eks, nodejs/eks/dependencies.ts."""
TOOLS: Mapping[str, str] = {
    "session-manager-plugin": "shells on nodes need it: https://docs.aws.amazon.com/systems-manager/latest/userguide/"
    "session-manager-working-with-install-plugin.html",
    "kubectl": "you need it to work with the cluster: https://kubernetes.io/docs/tasks/tools/",
    "helm": "you need it to repair a release (`helm rollback`): https://helm.sh/docs/intro/install/",
}
"""Programs that `pulumi up` does not need, and what does."""


def parse_version(text: str) -> tuple[int, ...]:
    """Return the numbers of ``v3.259.0`` or ``3.11.5-rc1``; empty for a string that begins otherwise."""
    numbers = []
    for part in text.strip().removeprefix("v").partition("-")[0].split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


def judge_version_of(check: str, name: str, version: str, oldest: tuple[int, ...], fix: str) -> CheckResult:
    """Judge the version of a program that `pulumi up` needs; empty where it is not there."""
    wanted = ".".join(map(str, oldest))
    found = f"{name} {version}" if version and parse_version(version) >= oldest else ""
    wrong = f"{name} is {version}, older than {wanted}" if version else f"{name} is not there"
    return judge_found(check, found, wrong, f"{fix} ({wanted} or later).")


def judge_plugins(
    packages: Mapping[str, str], installed: AbstractSet[tuple[str, str]], on_path: AbstractSet[str], *, downloads: bool
) -> Iterator[CheckResult]:
    """Yield a row for each plugin of ``packages``, versions by name, and for the plugins that pulumi-eks brings.

    ``on_path``: names of plugins that the engine takes from PATH, whatever their version. ``downloads``: the engine may
    download the others.
    """
    wanted = [(name, packages.get(name, "")) for name in SDKS]
    for name, version in [*wanted, *BROUGHT_BY_EKS.items()]:
        if not version:
            text = f"the package pulumi-{name} is not in the virtual environment"
            yield CheckResult("plugin", CheckState.FAILED, text, "Run `make venv`.")
            continue
        found = f"{name} {version}" if (name, version) in installed else f"{name}, on PATH" if name in on_path else ""
        will = "the next preview downloads it" if downloads else "the engine may not download it"
        fix = f"`pulumi plugin install resource {name} {version}`."
        yield judge_found("plugin", found, f"{name} {version} is not installed; {will}", fix, needed=not downloads)


def judge_aws_cli(printed: str) -> CheckResult:
    """Judge the AWS CLI by what ``aws --version`` printed."""
    version = printed.partition("aws-cli/")[2].partition(" ")[0]
    numbers = parse_version(version)
    if not numbers:
        return CheckResult("aws cli", CheckState.UNKNOWN, f"`aws --version` printed no version: {printed.strip()[:80]}")
    oldest = AWS_CLI.get(numbers[0], AWS_CLI[2])
    return judge_version_of("aws cli", "aws", version, oldest, "Install the AWS CLI")


def judge_tools(paths: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield a row for each tool of ``paths``, which has their places on PATH, empty where one is not there."""
    for name, path in paths.items():
        why, _, where = TOOLS[name].partition(": ")
        yield judge_found("tool", path, f"{name} is not on PATH; {why}", f"Install it: {where}", needed=False)
