"""The sandbox's files, and how a stack is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.layout import Layout, SandboxUsageError

FILE = "config/stacks/Pulumi.shop-dev.yaml"


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nstackConfigDir: config/stacks\n")
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text("")
    monkeypatch.chdir(tmp_path)
    return Layout(tmp_path)


@pytest.mark.parametrize("named", ["shop-dev", FILE, f"./{FILE}", "Pulumi.shop-dev.yaml"])
def test_a_stack_is_named_by_its_name_or_its_file(layout: Layout, named: str) -> None:
    assert layout.stack(named) == "shop-dev"
    assert layout.stack(str(layout.root / FILE)) == "shop-dev"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("shop-dv", "Did you mean shop-dev?"),
        ("config/stacks/Pulumi.shop-dv.yaml", "Did you mean shop-dev?"),
        ("elsewhere/Pulumi.shop-dev.yaml", "elsewhere/Pulumi.shop-dev.yaml is not in "),
    ],
)
def test_another_stack_or_file_is_rejected(layout: Layout, named: str, said: str) -> None:
    with pytest.raises(SandboxUsageError) as caught:
        layout.stack(named)
    assert said in str(caught.value)
