"""What `multiarch review` says of changes that the real engine previewed, each in its own row of the cases."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from multiarch.cli import main
from tests.e2e import aws as held
from tests.e2e.conftest import watched
from tests.e2e.previewed import Previewed, Previews
from tests.e2e.review_cases import BESIDE, CASES, DEV, PROD
from tests.e2e.world import World

pytestmark = pytest.mark.e2e
PROGRAM = Path(__file__).with_name("programs") / BESIDE
SECRETS = ("correct horse", "hunter2")


def _prepare(world: World) -> None:
    """Two stacks; one also has a self-managed group, and resources beside the platform."""
    shutil.copy2(PROGRAM, world.root)
    main = world.root / "__main__.py"
    beside = f'if pulumi.get_stack() == "{DEV}":\n    import beside  # noqa: F401\n'
    main.write_text(main.read_text(encoding="utf-8") + beside, encoding="utf-8")
    batch = {"kind": "self-managed", "instanceTypes": ["m7g.large", "m6g.large"], "capacityType": "spot"}
    world.edit(DEV, "nodeGroups", "batch", value=batch | {"minSize": 0, "maxSize": 8})
    for stack in (DEV, PROD):
        world.sandbox("up", stack)
    _change_outside_of_pulumi(world)


def _change_outside_of_pulumi(world: World) -> None:
    """An autoscaler starts nodes, and somebody gives a role more than its component does."""
    held.set_nodes(world.aws(DEV), world.plan(DEV).cluster.name, "graviton", 3)
    (row,) = [row for row in world.resources(PROD) if row["urn"].endswith("::managed-nodes-session-logs")]
    names = {"RoleName": row["inputs"]["role"], "PolicyName": row["inputs"]["name"]}
    document = json.loads(row["inputs"]["policy"])
    document["Statement"][0]["Action"] = "logs:*"
    world.aws(PROD).client("iam").put_role_policy(**names, PolicyDocument=json.dumps(document))


@pytest.fixture(scope="module")
def previews(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Previews]:
    folder = tmp_path_factory.mktemp("review")
    with watched(folder / "clone") as world:
        _prepare(world)
        made = Previews(world, folder / "changes", at_once=os.cpu_count() or 2)
        made.start({name: case.change for name, case in CASES.items()})
        yield made
        made.end()


def _review(capsys: pytest.CaptureFixture[str], previewed: Previewed, file: Path, output: str) -> str:
    """What the command line prints; in this process, which saves its start for each of many runs."""
    code = main(("review", str(file), "--before", str(previewed.before), "--output", output))
    said = capsys.readouterr()
    assert code == int(previewed.returncode != 0), said.err
    return said.out


@pytest.mark.parametrize("name", CASES)
def test_the_digest_says_what_a_reviewer_needs_and_no_more(
    name: str, previews: Previews, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case, previewed = CASES[name], previews.of(name)
    assert (previewed.returncode != 0) is case.failed, previewed.stderr
    monkeypatch.chdir(previewed.folder)
    for file in (previewed.json, previewed.events):
        data = json.loads(_review(capsys, previewed, file, "json"))
        found = {finding["rule"] for stack in data["stacks"] for finding in stack["findings"]}
        # An event log has no dependencies. Whether a policy's owner goes too is decided otherwise in two cases.
        differs = file == previewed.events and name in ("destroyed", "from-karpenter")
        assert found == (case.rules ^ {"narrow-permissions"} if differs else case.rules), file.name
    text = _review(capsys, previewed, previewed.events, "markdown")
    assert [said for said in case.says if said not in text] == [], text
    assert [said for said in (*case.silent, *SECRETS) if said in text] == [], text
