"""Outputs and statuses: what SSM cut is never taken for whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from multiarch.ssm import outcomes
from multiarch.ssm.model import AnswerStatus
from sandbox.aws.ssm_commands import Invocation, Target

PIECES = st.sampled_from(["x", "é", "\n", "---Output truncated---", "\n----------ERROR-------\n"])
OUTPUTS = st.builds(
    lambda parts: "".join(part * count for part, count in parts),
    st.lists(st.tuples(PIECES, st.sampled_from([1, 2, 50, 1_200, 12_000])), max_size=4),
)


def ended(output: str, errors: str, detail: str = "Success") -> Invocation:
    return Invocation("i-00000001", Target(), detail, output, errors, 0)


@given(OUTPUTS)
def test_a_fetched_output_is_whole_or_truncated(output: str) -> None:
    answer = outcomes.read_answer("i-00000001", "3.3", ended(output, "").fetched())
    if len(output.encode()) < 24_000:
        assert (answer.status, answer.output) == (AnswerStatus.DONE, output)
    else:
        assert answer.status is AnswerStatus.TRUNCATED
