"""Runs the ``run:`` steps of a workflow's job on this machine, as GitHub's runner does.

Each step is bash in the checkout, with the workflow's, the job's and its own environment; GITHUB_ENV, GITHUB_PATH and
GITHUB_OUTPUT reach later steps. Expressions are evaluated; a context that the test does not give is an error. Actions
are not run, but listed.
Source: GitHub documentation, "Workflow syntax", "Evaluate expressions in workflows and actions".
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tools.generate import documents

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_TOKEN = re.compile(r"'(?:[^']|'')*'|[A-Za-z_][\w.-]*(?:\(\))?|&&|\|\||==|!=|!|[()]|\d+|\s+")
_OPERATORS = {"&&": " and ", "||": " or ", "==": "==", "!=": "!=", "!": " not ", "(": "(", ")": ")"}
_TIMEOUT = 120
load_workflow = cache(documents.load_workflow)
"""As :func:`documents.load_workflow`, which reads a file for each call; nothing changes what it returns."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one step did."""

    name: str
    returncode: int
    said: str


@dataclass
class Job:
    """One job of a workflow, in the folder ``checkout``; ``contexts`` are values by name, such as ``github.token``.

    ``inputs`` are the caller's; others have their defaults. ``temp`` is the runner's folder for temporary files.
    """

    workflow: str
    job: str
    checkout: Path
    temp: Path
    environ: Mapping[str, str]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    contexts: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    """Names of the steps to run. Default: all."""

    def __post_init__(self) -> None:
        """Read the workflow, and make the runner's files."""
        content = load_workflow(self.workflow)
        self._content, self._job = content, content["jobs"][self.job]
        declared = content["on"].get("workflow_call", {})
        given = {name: row.get("default", "") for name, row in declared.get("inputs", {}).items()}
        assert set(self.inputs) <= set(given), "the workflow has no such input"
        self.values = {
            **{f"inputs.{name}": value for name, value in {**given, **self.inputs}.items()},
            **{f"secrets.{name}": "" for name in declared.get("secrets", {})},
            **self.contexts,
        }
        self.temp.mkdir(parents=True, exist_ok=True)
        self.files = {name: self.temp / name for name in ("ENV", "PATH", "OUTPUT", "STEP_SUMMARY")}
        self.files["STEP_SUMMARY"].touch()
        self.failed = False
        self.ran: list[Ran] = []
        self.used: list[str] = []

    @property
    def summary(self) -> str:
        """The summaries of all steps."""
        return self.files["STEP_SUMMARY"].read_text(encoding="utf-8")

    @property
    def starts(self) -> bool:
        """Whether the job's condition is met. What it needs is not looked at."""
        return self._is_met(str(self._job.get("if", "success()")))

    def run(self) -> list[Ran]:
        """Run all steps whose condition is met."""
        environ = {**self.environ, **self._environment(self._content), **self._environment(self._job)}
        environ |= {f"GITHUB_{name}": str(file) for name, file in self.files.items()} | {"RUNNER_TEMP": str(self.temp)}
        self.values |= {f"env.{name}": value for name, value in environ.items()}
        for step in self._job["steps"]:
            if self.only and step.get("name") not in self.only:
                continue
            if not self._is_met(str(step.get("if", "success()"))):
                continue
            if "uses" in step:
                self.used.append(step["uses"].partition("@")[0])
                continue
            for name in ("ENV", "PATH", "OUTPUT"):
                self.files[name].write_text("")
            ran = self._step(step, {**environ, **self._environment(step)})
            self.ran.append(ran)
            self.failed |= ran.returncode != 0
            environ |= self._pairs("ENV")
            environ["PATH"] = ":".join([*reversed(self._lines("PATH")), environ["PATH"]])
            if "id" in step:
                self.values |= {
                    f"steps.{step['id']}.outputs.{name}": text for name, text in self._pairs("OUTPUT").items()
                }
                self.values[f"steps.{step['id']}.outcome"] = "failure" if ran.returncode else "success"
        return self.ran

    def _step(self, step: Mapping[str, Any], environ: Mapping[str, str]) -> Ran:
        assert "${{" not in step["run"]
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=self.checkout / step.get("working-directory", "."),
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        return Ran(step["name"], done.returncode, done.stdout)

    def _environment(self, part: Mapping[str, Any]) -> dict[str, str]:
        return {name: self.text(value) for name, value in (part.get("env") or {}).items()}

    def _lines(self, name: str) -> list[str]:
        return self.files[name].read_text(encoding="utf-8").splitlines()

    def _pairs(self, name: str) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._lines(name))

    def text(self, value: object) -> str:
        """A value of the workflow with its expressions replaced."""
        if isinstance(value, bool):
            return str(value).lower()
        return _EXPRESSION.sub(lambda found: self._shown(self.evaluate(found[1])), str(value))

    @staticmethod
    def _shown(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)

    def _is_met(self, condition: str) -> bool:
        inner = _EXPRESSION.fullmatch(condition)
        text = inner[1] if inner else condition
        states = ("always()", "cancelled()", "failure()", "success()")
        # GitHub adds success() to a condition without a status function.
        return bool(self.evaluate(text)) and (any(state in text for state in states) or not self.failed)

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 (whatever the expression gives)
        """The value of an expression. Raises KeyError for a context that the test does not give."""
        names: dict[str, Any] = {}
        parts = []
        position = 0
        while position < len(expression):
            token = _TOKEN.match(expression, position)
            assert token, f"not understood: {expression[position:]}"
            position = token.end()
            text = token[0]
            if text.isspace():
                continue
            if text in _OPERATORS:
                parts.append(_OPERATORS[text])
                continue
            name = f"v{len(names)}"
            names[name] = self._value(text)
            parts.append(name)
        return eval("".join(parts), {"__builtins__": {}}, names)  # noqa: S307 (only operators and names of values)

    def _value(self, token: str) -> Any:  # noqa: ANN401
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if token.isdigit():
            return int(token)
        constants = {"true": True, "false": False, "null": None}
        status = {"always()": True, "cancelled()": False, "failure()": self.failed, "success()": not self.failed}
        known = {**constants, **status, **self.values}
        if token.startswith("steps.") and token not in known:
            return ""  # as GitHub: a step that did not run has no outputs
        return known[token]


def list_started(shown: str, event: str, temp: Path, contexts: Mapping[str, Any]) -> set[str]:
    """Return the jobs, WORKFLOW/JOB, of the reusable workflows that the workflow ``shown`` calls at an event.

    Of the filters only those of pushes are known.
    """
    content = yaml.safe_load(shown)
    triggers = content[True]  # YAML 1.1 has `on` as a truth value
    if event not in ([triggers] if isinstance(triggers, str) else triggers):
        return set()
    if event == "push":
        patterns = triggers["push"].get("tags" if contexts["github.ref_type"] == "tag" else "branches", [])
        if not any(fnmatch.fnmatch(contexts["github.ref_name"], pattern) for pattern in patterns):
            return set()
    found: set[str] = set()
    for call in content["jobs"].values():
        workflow = call["uses"].rpartition("/")[2].partition("@")[0]
        jobs = load_workflow(workflow)["jobs"]
        given = [Job(workflow, name, temp, temp, {}, call["with"], contexts) for name in jobs]
        if given[0].evaluate(call.get("if", "true")):
            started: set[str] = set()
            for job in given:
                needs = jobs[job.job].get("needs", [])
                if job.starts and set([needs] if isinstance(needs, str) else needs) <= started:
                    started.add(job.job)
            found |= {f"{workflow}/{name}" for name in started}
    return found


def base_environ(folder: Path) -> dict[str, str]:
    """An environment with what a runner has, and nothing of this machine's but PATH; ``folder`` is the home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TZ", "SSL_CERT_FILE") if name in os.environ}
    return {
        **kept,
        "AWS_EC2_METADATA_DISABLED": "true",  # no credentials, and nowhere to request some
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "somebody",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SERVER_URL": "https://github.com",
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
