"""What is not YAML is blamed on its own line, in libyaml's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multiarch.yaml_text.events import YamlError, YamlFault
from multiarch.yaml_text.reader import read_nodes
from multiarch.yaml_text.scalars import read_pulumi_scalar

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


def fault_of(text: str) -> YamlFault:
    with pytest.raises(YamlError) as rejected:
        read_nodes(text, read_pulumi_scalar)
    return rejected.value.fault


@pytest.mark.parametrize(
    ("written", "instead", "line", "message", "hint"),
    [
        ("minSize: 1", "minSize 1", 6, "could not find expected ':' while scanning a simple key", "colons"),
        ("minSize: 1", '"minSize: 1', 6, "unexpected end of stream while scanning a quoted scalar", "quotes"),
        ("    web:", "    web", 5, "mapping values are not allowed in this context", "in the line above"),
        ("    api", "   api", 8, "did not find expected key while parsing a block mapping", "indentation"),
        ("[m7i.large]", "[m7i.large", 5, "expected ',' or ']' while parsing a flow sequence", "brackets"),
        ("      minSize", "\tminSize", 6, "character that cannot start any token", "with spaces, not with tabs"),
        ("owner: shop", "owner: {{ owner }}-shop", 2, "did not find expected key", "Render the template first."),
    ],
)
def test_a_fault_names_its_line(written: str, instead: str, line: int, message: str, hint: str) -> None:
    assert written in GROUP
    fault = fault_of(GROUP.replace(written, instead, 1))
    assert (fault.rule, fault.line) == ("not-yaml", line), fault
    assert fault.message.startswith("not valid YAML: ")
    assert message in fault.message
    assert hint in fault.hint


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
