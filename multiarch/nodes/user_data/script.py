"""A team's ``preBootstrap`` script, prepared to run."""

from __future__ import annotations

import base64
import shlex

from multiarch.nodes.user_data.text import is_plain

_SHEBANG = "#!/bin/bash -e\n"


def complete_script(script: str) -> str:
    """Complete a script: cloud-init needs a ``#!`` line (without one: bash, ending at the first failure)."""
    complete = script if script.startswith("#!") else _SHEBANG + script
    return complete if complete.endswith("\n") else complete + "\n"


def run_in_place(script: str) -> str:
    """Return Bash lines that run ``script`` in a separate process: its ``exit`` or ``cd`` does not affect the rest.

    The interpreter reads the file, so that the file need not be executable: hardened images mount ``/tmp`` with
    ``noexec``.
    """
    script = complete_script(script)
    # As the kernel reads it: the interpreter up to the first white space, the rest as one argument.
    interpreter = script.partition("\n")[0].removeprefix("#!").split(maxsplit=1) or ["/bin/bash"]
    command = " ".join(shlex.quote(word.strip()) for word in interpreter)
    content, reader = (script, "cat") if is_plain(script) else (_encoded(script), "base64 --decode")
    delimiter, number = "PRE_BOOTSTRAP", 0
    while delimiter in content:
        number += 1
        delimiter = f"PRE_BOOTSTRAP_{number}"
    return (
        'pre_bootstrap="$(mktemp)"\n'
        f"{reader} >\"${{pre_bootstrap}}\" <<'{delimiter}'\n"
        f"{content}"
        f"{delimiter}\n"
        f'{command} "${{pre_bootstrap}}"\n'
        'rm --force "${pre_bootstrap}"\n'
    )


def _encoded(script: str) -> str:
    return base64.encodebytes(script.encode()).decode()
