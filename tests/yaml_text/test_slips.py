"""A slip of the pen is blamed on its own line, with what was probably meant."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.yaml_text.events import YamlError, YamlFault
from multiarch.yaml_text.reader import read_nodes
from multiarch.yaml_text.scalars import read_pulumi_scalar
from multiarch.yaml_text.slips import Stop, explain_error

GROUP = """\
config:
  multiarch-eks:owner: shop@example.com
  multiarch-eks:nodeGroups:
    web:
      instanceTypes: [m7i.large]
      minSize: 1
      maxSize: 4
    api:
      instanceTypes: [m7g.large]
"""
SLIPS = [
    ("minSize: 1", "minSize 1", 6, "a colon is missing after minSize", "Write `minSize: 1`."),
    ("maxSize: 4", "maxSize 4", 7, "a colon is missing after maxSize", "Write `maxSize: 4`."),
    ("minSize: 1", "minSize = 1", 6, "a colon is missing after minSize", "Write `minSize: 1`."),
    ("minSize: 1", '"minSize: 1', 6, '" is not closed', 'Add the missing ".'),
    ("minSize: 1", "minSize:1", 6, "a space is missing after the colon of minSize", "Write `minSize: 1`."),
    ("eks:owner: shop", "eks:owner shop", 2, "a colon is missing after multiarch-eks:owner", "eks:owner: shop@"),
    ("    web:", "    web", 4, "a colon is missing after web", "Write `web:`."),
    ("instanceTypes: [m7i", "instanceTypes [m7i", 5, "a colon is missing after instanceTypes", ": [m7i.large]`."),
    ("eks:owner: shop", "eks:owner:shop", 2, "a space is missing after the colon of multiarch-eks:owner", ": shop@"),
    ("      minSize", "       minSize", 6, "indented by 7 spaces, where 4 or 6 are expected", "same column"),
    ("[m7i.large]", "\n        - a\n        - b:c\n       x: 1", 8, "indented by 7 spaces, where", "same column"),
    ("      minSize", "     minSize", 6, "indented by 5 spaces, where", "same column"),
    ("      maxSize", "       maxSize", 7, "indented more than the line above, which has a value", "same column"),
    ("    api", "   api", 8, "indented by 3 spaces, where", "same column"),
    ("    api", "     api", 8, "indented by 5 spaces, where 4 or 6 are expected", "same column"),
    ("  multiarch-eks:nodeGroups", "   multiarch-eks:nodeGroups", 3, "indented more than the line above", "same"),
    ("[m7i.large]", "[m7i.large]]", 5, "] closes nothing", "Remove it"),
    (
        "instanceTypes: [m7i.large]",
        "zones:\n      -\tm7i",
        6,
        "a tab in place of a space",
        "Write a space in its place.",
    ),
    ("      minSize", "\tminSize", 6, "indented with a tab", "Indent with spaces."),
    ("owner: shop", "owner: {{ owner }}-shop", 2, "{{ owner }} is a placeholder of a template", "Render"),
    ("      minSize", "{% if x %}\n      minSize", 6, "{% if x %} is a placeholder of a template", "Render"),
    ("[m7i.large]", "[m7i.large", 5, "[ is not closed", "Add the missing ]."),
    ("[m7g.large]", "{a: b", 9, "{ is not closed", "Add the missing }."),
    ("[m7g.large]", "'m7g.large", 9, "' is not closed", "Add the missing '."),
    ("shop@example.com", "team: shop", 2, "a second colon in one line", '`multiarch-eks:owner: "team: shop"`'),
    ("shop@example.com", "@shop", 2, "a value can't begin with @", "Put the value in quotes."),
    (
        "      minSize: 1\n",
        "<<<<<<< HEAD\n      minSize: 1\n=======\n      minSize: 2\n>>>>>>> main\n",
        6,
        "a marker of a merge conflict",
        "Resolve the conflict",
    ),
]


def fault_of(text: str) -> YamlFault:
    with pytest.raises(YamlError) as rejected:
        read_nodes(text, read_pulumi_scalar)
    return rejected.value.fault


@pytest.mark.parametrize(("written", "instead", "line", "message", "hint"), SLIPS)
def test_a_slip_is_blamed_on_its_line(written: str, instead: str, line: int, message: str, hint: str) -> None:
    assert written in GROUP
    fault = fault_of(GROUP.replace(written, instead, 1))
    assert (fault.rule, fault.line) == ("not-yaml", line), fault
    assert fault.message.startswith("not valid YAML: ")
    assert message in fault.message
    assert hint in fault.hint


@pytest.mark.parametrize(("written", "instead", "line", "message", "hint"), SLIPS[::4])
def test_line_ends_of_windows_change_nothing(written: str, instead: str, line: int, message: str, hint: str) -> None:
    fault = fault_of(GROUP.replace(written, instead, 1).replace("\n", "\r\n"))
    assert fault.line == line
    assert message in fault.message
    assert hint in fault.hint


@pytest.mark.parametrize("harmless", ['"{{ owner }}"', "'{{ owner }}'", "a # {{ owner }}"])
def test_what_is_in_quotes_or_comments_beside_a_slip_is_not_blamed(harmless: str) -> None:
    text = GROUP.replace("shop@example.com", harmless).replace(
        "  multiarch-eks:nodeGroups:", "  multiarch-eks:nodeGroups"
    )
    fault = fault_of(text)
    assert (fault.line, "a colon is missing after multiarch-eks:nodeGroups" in fault.message) == (3, True), fault


@pytest.mark.parametrize("part", ["{%", '\\"', ", '", ': "', "{{", "- '", "a=", "  ", "["])
@pytest.mark.parametrize("before", ["", '"', "a: [", "- "])
def test_a_line_of_megabytes_is_explained_in_a_moment_and_not_repeated(part: str, before: str) -> None:
    line = before + part * 20_000
    stops = [
        Stop("could not find expected ':'", 2, 0, "while scanning a simple key", 1),
        Stop("did not find expected ',' or ']'", 1, len(line), "while parsing a flow sequence", 1),
        Stop("mapping values are not allowed in this context", 1, len(line)),
    ]
    began = time.process_time()
    slips = [explain_error(f"a: 1\n{line}\nb\n", stop) for stop in stops]
    assert time.process_time() - began < 2
    assert all(len(slip.message) + len(slip.hint) < 500 for slip in slips)


@given(
    at=st.integers(0, len(GROUP)),
    until=st.integers(0, 6),
    instead=st.text("[]{}:-\"'\t \n#&*!|>%@,ab\u00a0“", max_size=4),
)
def test_every_fault_names_a_line_of_the_text(at: int, until: int, instead: str) -> None:
    text = GROUP[:at] + instead + GROUP[at + until :]
    faults = []
    try:
        read_nodes(text, read_pulumi_scalar)
    except YamlError as error:
        faults.append(error.fault)
    assert all(fault.line is not None and 1 <= fault.line <= text.count("\n") + 1 for fault in faults)
    assert not any("<block" in fault.message for fault in faults)
