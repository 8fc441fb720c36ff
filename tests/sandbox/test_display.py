"""What is shown of Pulumi's lines agrees with what they count."""

from __future__ import annotations

import pytest

from sandbox.display import Display, failures_last, warnings

AMBIENT = "    warning: using pulumi-resource-aws from $PATH at /somewhere/pulumi-resource-aws"
ROW = "    pulumi:pulumi:Stack shop-shop-dev  "


def shown(*lines: str) -> list[str]:
    out: list[str] = []
    display = Display(out.append)
    for line in lines:
        display(line)
    display.end()
    return out


def preview(*warnings: str, count: str) -> list[str]:
    return shown(
        "Previewing update (shop-dev):",
        f"{ROW}{AMBIENT.strip()}",
        f"{ROW}{count}",
        "Diagnostics:",
        "  pulumi:pulumi:Stack (shop-shop-dev):",
        *warnings,
        "",
        "Resources:",
        "    3 unchanged",
    )


def test_the_count_is_of_the_warnings_that_are_shown() -> None:
    one = "    warning: the image is not pinned"
    assert preview(AMBIENT, one, AMBIENT, count="3 warnings") == [
        "Previewing update (shop-dev):",
        f"{ROW}1 warning",
        "Diagnostics:",
        "  pulumi:pulumi:Stack (shop-shop-dev):",
        one,
        "",
        "Resources:",
        "    3 unchanged",
    ]


def test_without_other_warnings_nothing_is_counted_and_no_heading_stands_alone() -> None:
    assert preview(AMBIENT, AMBIENT, count="2 warnings") == [
        "Previewing update (shop-dev):",
        ROW.rstrip(),
        "Resources:",
        "    3 unchanged",
    ]


def test_errors_in_the_same_row_stay() -> None:
    assert preview(AMBIENT, count="**failed** 1 error; 1 warning")[1] == f"{ROW}**failed** 1 error"
    two = ("    warning: one", "    warning: two")
    assert preview(AMBIENT, *two, count="**failed** 1 error; 12 warnings")[1] == f"{ROW}**failed** 1 error; 2 warnings"


def test_headings_of_other_resources_stay() -> None:
    (*_, heading, error) = shown(
        f"{ROW}1 warning",
        "Diagnostics:",
        "  pulumi:pulumi:Stack (shop-shop-dev):",
        AMBIENT,
        "",
        "  aws:ec2:Vpc (vpc):",
        "    error: no",
    )
    assert (heading, error) == ("  aws:ec2:Vpc (vpc):", "    error: no")


@pytest.mark.parametrize("count", ["\x1b[93m2 warnings", "\x1b[0m2 \x1b[38;5;3mwarnings"])
def test_colours_stay_and_are_seen_through(count: str) -> None:
    row = f" \x1b[0m   {ROW.strip()} \x1b[0m{count}\x1b[0m"
    coloured = [row, "\x1b[38;5;13mDiagnostics:\x1b[0m", "  \x1b[1mpulumi:pulumi:Stack (x):\x1b[0m"]
    warning = "    \x1b[93mwarning: \x1b[0mreal"
    assert shown(*coloured, f"\x1b[93m{AMBIENT}\x1b[0m", warning) == [
        row.replace("m2 ", "m1 ").replace("warnings", "warning"),
        *coloured[1:],
        warning,
    ]


def test_lines_come_at_once_when_there_is_nothing_to_count() -> None:
    out: list[str] = []
    display = Display(out.append)
    display(" +  fixture:index:Part one create")
    assert out == [" +  fixture:index:Part one create"]


def test_what_was_held_back_is_shown_when_pulumi_is_cut_off() -> None:
    assert shown(f"{ROW}11 warnings") == [f"{ROW}11 warnings"]


def test_resources_that_do_not_change_are_not_listed() -> None:
    shown: list[str] = []
    display = Display(shown.append)
    for line in (
        "    aws:eks:NodeGroup general  ",
        " ~  aws:eks:NodeGroup general refreshing ",
        " ~  aws:eks:NodeGroup general refresh ",
        " ~  aws:eks:NodeGroup graviton refresh [diff: ~scalingConfig]",
        " ~  aws:eks:NodeGroup graviton update [diff: ~taints]",
    ):
        display(line)
    display.end()
    assert shown == [
        " ~  aws:eks:NodeGroup graviton refresh [diff: ~scalingConfig]",
        " ~  aws:eks:NodeGroup graviton update [diff: ~taints]",
    ]


def test_the_resource_that_failed_stands_last() -> None:
    stack, group = "  pulumi:pulumi:Stack (shop-shop-dev):", "  aws:eks:NodeGroup (general):"
    why, warning = "    error: An error occurred (InvalidParameterException): no", "    warning: not pinned"
    follows = "    error: update failed"
    assert failures_last([group, why, stack, warning, follows]) == [stack, warning, group, why]
    assert failures_last([group, why, stack, follows]) == [group, why]
    # A program's own error is the stack's: nothing else failed.
    own = [stack, warning, "    error: Program failed with an unhandled exception", follows]
    assert failures_last(own) == own
    assert failures_last(["error: no stack named 'x' found"]) == ["error: no stack named 'x' found"]


REFUSED = [
    f"{ROW}error: config/stacks/x.yaml:3 no [rule]",
    f" +  {ROW.strip()} create error: config/stacks/x.yaml:3 no [rule]",
    "@ previewing update....",
    f" +  {ROW.strip()} create 2 errors; 3 warnings",
    "Diagnostics:",
    "  pulumi:pulumi:Stack (shop-shop-dev):",
    "    warning: old",
    "    warning: old",
    "    error: config/stacks/x.yaml:3 no [rule]",
    "  aws:ec2:Vpc (vpc):",
    "    warning: old",
    "",
    "Resources:",
    "    1 errored",
]


def test_a_message_is_shown_once_for_each_resource_that_has_it() -> None:
    assert shown(*REFUSED) == [
        f" +  {ROW.strip()} create 2 errors; 2 warnings",
        *REFUSED[4:7],
        *REFUSED[8:],
    ]


def test_what_failed_is_left_to_the_error_that_says_it() -> None:
    out: list[str] = []
    display = Display(out.append)
    for line in REFUSED:
        display(line)
    display.end(failed=True)
    assert out == [f" +  {ROW.strip()} create 2 errors", *REFUSED[12:]]
    assert failures_last(REFUSED[5:12]).count("    error: config/stacks/x.yaml:3 no [rule]") == 1


def test_messages_without_diagnostics_are_shown_when_pulumi_is_cut_off() -> None:
    assert shown(REFUSED[0]) == [REFUSED[0]]


def test_the_programs_warnings_are_each_there_once() -> None:
    assert warnings([AMBIENT, "    warning: old", "    error: no", "    warning: old"]) == ("old",)
