"""The GitLab templates, included by a repository that is not a clone of this project, and run by gitlab-ci-local."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.ci import gitlab
from tests.quotations import ROOT

pytestmark = pytest.mark.tools

TEMPLATES = sorted((ROOT / "ci" / "gitlab").glob("*.yml"))
INCLUDED = [file for file in TEMPLATES if file.stem != "setup"]
DIGEST = r"@sha256:[0-9a-f]{64}$"


@pytest.fixture
def forge(tmp_path: Path) -> gitlab.GitLab:
    return gitlab.make(tmp_path)


def including(template: str, ref: str, **inputs: object) -> str:
    values = {"project": gitlab.PROJECT, "ref": ref, **inputs}
    include = {"project": gitlab.PROJECT, "ref": ref, "file": f"ci/gitlab/{template}", "inputs": values}
    return str(yaml.safe_dump({"include": [include]}, sort_keys=False))


@pytest.mark.parametrize("template", INCLUDED, ids=lambda file: file.name)
def test_another_repository_includes_a_template_in_ten_lines(forge: gitlab.GitLab, template: Path) -> None:
    """gitlab-ci-local holds the result against GitLab's published JSON schema of .gitlab-ci.yml."""
    ci = including(template.name, forge.ref)
    assert len(ci.splitlines()) <= 10
    ran = forge.run(forge.team(ci), "--preview")
    assert ran.code == 0, ran.out
    said, _, expanded = ran.out.partition("---\n")
    assert "json schema validated" in said
    assert [name for name, job in yaml.safe_load(expanded).items() if isinstance(job, dict) and "script" in job]
