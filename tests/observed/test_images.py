from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from multiarch.facts.architectures import Architecture
from multiarch.images.model import Verdict
from multiarch.manifests.containers import ContainerRole
from multiarch.manifests.owners import WorkloadKey
from multiarch.observed.images import judge_uses
from multiarch.observed.verdicts import NO_IMAGE, ImageVerdicts
from multiarch.observed.workloads import ImageUse
from tests.images.asking import asked
from tests.images.shapes import Repository

BOTH = (Architecture.AMD64, Architecture.ARM64)


def use(image: str, name: str = "api", **more: Any) -> ImageUse:
    return ImageUse(image, "main", ContainerRole.CONTAINER, WorkloadKey("shop", "Deployment", name), "default", **more)


def audited(uses: Iterable[ImageUse], progress: list[tuple[int, int]] | None = None) -> ImageVerdicts:
    steps = [] if progress is None else progress
    return asked(
        lambda registry: judge_uses(registry, uses, BOTH, progress=lambda done, every: steps.append((done, every)))
    )


def test_every_image_has_a_verdict_per_architecture_and_all_its_users(repository: Repository) -> None:
    repository.index([repository.entry("linux/amd64"), repository.entry("linux/arm64")], tag="both")
    repository.image("linux/amd64", tag="amd64-only")
    root = f"{repository.server.host}/{repository.name}"
    found = audited([use(f"{root}:both", "one"), use(f"{root}:both", "two"), use(f"{root}:amd64-only")])
    amd64_only, both = found.rows
    assert [each.verdict for each in both.judgements] == [Verdict.SUPPORTED, Verdict.SUPPORTED]
    assert [each.workload.name for each in both.uses] == ["one", "two"]
    assert [each.verdict for each in amd64_only.judgements] == [Verdict.SUPPORTED, Verdict.UNSUPPORTED]
    assert "linux/amd64" in amd64_only.judged(Architecture.ARM64).reason
    assert (amd64_only.worst, both.worst) == (Verdict.UNSUPPORTED, Verdict.SUPPORTED)
    assert {verdict: found.count(verdict) for verdict in Verdict} == {
        Verdict.SUPPORTED: 1,
        Verdict.UNSUPPORTED: 1,
        Verdict.UNKNOWN: 0,
    }


def test_what_cannot_be_judged_is_unknown_with_its_reason_and_the_rest_goes_on(repository: Repository) -> None:
    repository.image("linux/arm64", tag="there")
    root = f"{repository.server.host}/{repository.name}"
    uses = [use(f"{root}:there"), use(f"{root}:missing"), use("Not An Image"), use(""), use("127.0.0.1:1/gone:1")]
    uses += [use(image) for image in ("127.0.0.1:99999/app", "[::::]/app", f"{'a' * 64}.invalid/app")]
    rows = {row.image: row for row in audited(uses).rows}
    assert rows[f"{root}:there"].judged(Architecture.ARM64).verdict is Verdict.SUPPORTED
    assert "not found" in rows[f"{root}:missing"].judged(Architecture.ARM64).reason
    assert "invalid image reference" in rows["Not An Image"].judged(Architecture.AMD64).reason
    assert "has no image" in rows[NO_IMAGE].judged(Architecture.AMD64).reason
    assert "unreachable" in rows["127.0.0.1:1/gone:1"].judged(Architecture.ARM64).reason
    assert all(row.worst is Verdict.UNKNOWN for image, row in rows.items() if not image.endswith(":there"))


def test_two_spellings_of_an_image_are_two_rows_and_one_look_up(repository: Repository) -> None:
    repository.image("linux/arm64", tag="latest")
    root = f"{repository.server.host}/{repository.name}"
    steps: list[tuple[int, int]] = []
    found = audited([use(root), use(f"{root}:latest")], steps)
    assert [row.image for row in found.rows] == [root, f"{root}:latest"]
    assert steps == [(1, 1)]


def test_nothing_in_use_is_an_empty_audit() -> None:
    assert audited([]).rows == ()


def test_an_image_that_is_run_and_mounted_has_a_row_for_each(repository: Repository) -> None:
    repository.image("linux/amd64", tag="single")
    repository.index([repository.entry("linux/amd64")], tag="index")
    root = f"{repository.server.host}/{repository.name}"
    uses = [
        replace(use(f"{root}:{tag}"), role=role)
        for tag in ("single", "index")
        for role in (ContainerRole.CONTAINER, ContainerRole.VOLUME)
    ]
    index, run, mounted = audited(uses).rows
    assert (index.image, len(index.uses), index.worst) == (f"{root}:index", 2, Verdict.UNSUPPORTED)
    assert [each.role for each in (*run.uses, *mounted.uses)] == [ContainerRole.CONTAINER, ContainerRole.VOLUME]
    assert (run.worst, mounted.worst) == (Verdict.UNSUPPORTED, Verdict.SUPPORTED)
    assert "not run" in mounted.judged(Architecture.ARM64).reason


def test_an_image_that_is_not_a_text_is_unknown_with_that_reason() -> None:
    (row,) = audited([use("123", fault="must be a string, not a number: put it in quotes")]).rows
    assert (row.image, row.worst) == ("123", Verdict.UNKNOWN)
    assert row.judgements[0].reason == "must be a string, not a number: put it in quotes"
