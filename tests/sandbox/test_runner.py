"""What is shown of Pulumi's lines."""

from __future__ import annotations

from sandbox.runner import is_told, warnings


def test_resources_that_do_not_change_are_not_listed() -> None:
    lines = (
        "    aws:eks:NodeGroup general  ",
        " ~  aws:eks:NodeGroup general refreshing ",
        " ~  aws:eks:NodeGroup general refresh ",
        "@ previewing update....",
        "    pulumi:pulumi:Stack shop-shop-dev running warning: old",
        "\x1b[0m ~  aws:eks:NodeGroup general refresh \x1b[0m",
        " ~  aws:eks:NodeGroup graviton refresh [diff: ~scalingConfig]",
        " ~  aws:eks:NodeGroup graviton update [diff: ~taints]",
        "    pulumi:pulumi:Stack shop-shop-dev  2 warnings",
        "    warning: the policy says error: no",
    )
    assert [line for line in lines if is_told(line)] == list(lines[6:])


def test_the_programs_warnings_are_each_there_once() -> None:
    assert warnings(["    warning: old", "    error: no", "    warning: old"]) == ("old",)
