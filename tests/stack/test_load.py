"""Files to a Stack: the engine's reading, the organisation's defaults, the places, the names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from multiarch.errors import MultiarchError, StackError
from multiarch.stack.load import find_project_root, list_stack_files, load_file, load_from_engine
from multiarch.stack.origin import Place
from tests.stack.files import CONFIG, PROJECT, Project


def with_defaults(defaults: str) -> str:
    return f"{PROJECT}config:\n  multiarch-eks:defaults:\n    value:\n{defaults}"


def test_keys_may_stand_without_the_namespace(project: Project) -> None:
    assert project.load(CONFIG.replace("multiarch-eks:", "")).spec == project.load(CONFIG).spec


def test_duplicate_group_names_are_rejected_with_both_lines(project: Project) -> None:
    (line,) = project.lines(f"{CONFIG}    web:\n      instanceTypes: [m7g.large]\n")
    assert line.startswith("Pulumi.shop-dev.yaml:10 nodeGroups.web: Duplicate key web, first on line 8.")


def test_an_encrypted_value_is_rejected_wherever_it_stands(project: Project) -> None:
    text = CONFIG.replace("shop@example.com", "{secure: AAA}")
    (line,) = project.lines(f"{text}      labels: {{a: {{secure: BBB}}}}\n")[:1]
    assert line == (
        "Pulumi.shop-dev.yaml:5 owner: The value is encrypted; nothing in a stack is a secret. Write the value itself."
    )
    assert [problem.key for problem in project.problems(f"{text}      labels: {{a: {{secure: BBB}}}}\n")] == [
        "owner",
        "nodeGroups.web.labels.a",
    ]


@pytest.mark.parametrize(("written", "text"), [("true", "true"), ("1.30", "1.3")])
def test_scalars_at_the_top_become_text_as_the_engine_makes_it(project: Project, written: str, text: str) -> None:
    assert project.load(CONFIG.replace('"4711"', written)).spec.cost_center == text


@pytest.mark.parametrize(("written", "value"), [("true", True), ('"false"', False)])
def test_a_flag_at_the_top_may_be_a_text(project: Project, written: str, *, value: bool) -> None:
    stack = project.load(f"{CONFIG}  multiarch-eks:deletionProtection: {written}\n")
    assert stack.spec.deletion_protection is value


@pytest.mark.parametrize("written", ["", ' ""'])
def test_an_empty_value_at_the_top_is_rejected(project: Project, written: str) -> None:
    (line,) = project.lines(f"{CONFIG}  multiarch-eks:clusterName:{written}\n")
    assert line.startswith("Pulumi.shop-dev.yaml:10 clusterName: clusterName is empty.")


def test_defaults_are_merged_below_the_stacks_words(project: Project) -> None:
    defaults = "      tags: {a: org, b: org}\n      logging: {types: [api, audit], retentionDays: 30}\n"
    text = f"{CONFIG}  multiarch-eks:tags: {{a: team}}\n  multiarch-eks:logging: {{types: [scheduler]}}\n"
    words = project.load(text, project=with_defaults(defaults)).spec
    assert words.tags == {"a": "team", "b": "org"}
    assert (words.logging.types, words.logging.retention_days) == (["scheduler"], 30)


def test_a_null_takes_a_default_back(project: Project) -> None:
    defaults = "      tags: {a: org, b: org}\n"
    words = project.load(f"{CONFIG}  multiarch-eks:tags: {{a: null}}\n", project=with_defaults(defaults)).spec
    assert words.tags == {"b": "org"}


def test_a_null_that_takes_nothing_back_is_rejected(project: Project) -> None:
    (line,) = project.lines(f"{CONFIG}    api:\n")
    assert line.startswith("Pulumi.shop-dev.yaml:10 nodeGroups.api: api is empty.")


def test_what_came_from_a_default_has_its_place_in_the_project_file(project: Project) -> None:
    defaults = "      tags: {a: org}\n      network:\n        nat: singel\n        cidr: 10.0.0.0/16\n"
    text = f"{CONFIG}  multiarch-eks:network: {{zones: 9}}\n"
    lines = project.lines(text, project=with_defaults(defaults))
    assert [line.partition(": ")[0] for line in lines] == [
        "Pulumi.yaml:9 network.nat",
        "Pulumi.shop-dev.yaml:10 network.zones",
    ]
    origin = project.load(CONFIG, project=with_defaults("      tags: {a: org}\n")).origin
    assert origin.places["tags", "a"] == Place((project.root / "Pulumi.yaml").as_posix(), 7)


def test_project_keys_count_key_by_key_where_the_stack_has_none(project: Project) -> None:
    settings = (
        f"{PROJECT}config:\n"
        "  aws:region: {value: us-east-1}\n"
        "  multiarch-eks:clusterName: {value: from-project}\n"
        "  multiarch-eks:tags: {value: {a: org}}\n"
        "  amiFamily: {default: Bottlerocket}\n"
        "  kubernetesVersion: 1.34\n"
        "  storageClass: {type: boolean, description: nothing given}\n"
    )
    words = project.load(f"{CONFIG}  multiarch-eks:tags: {{b: team}}\n", project=settings).spec
    assert (words.cluster_name, words.tags, words.ami_family) == ("from-project", {"b": "team"}, "Bottlerocket")
    assert (words.kubernetes_version, words.storage_class) == ("1.34", None)
    assert project.load(CONFIG, project=settings).region == "eu-west-1"
    assert project.load(CONFIG.replace("  aws:region: eu-west-1\n", ""), project=settings).region == "us-east-1"


def test_a_missing_key_has_the_line_of_its_parent(project: Project) -> None:
    text = CONFIG.replace("  multiarch-eks:owner: shop@example.com\n", "").replace("instanceTypes", "zones")
    assert [(problem.line, problem.key, problem.rule) for problem in project.problems(text)] == [
        (1, "owner", "missing-key"),
        (7, "nodeGroups.web.instanceTypes", "missing-key"),
    ]


def test_every_problem_is_told_at_once_in_the_order_of_the_file(project: Project) -> None:
    text = CONFIG.replace("team: shop", "team: shop\n  x: 1").replace("[m7i.large]", "m7i.large\n      kind: best")
    assert [problem.line for problem in project.problems(text)] == [4, 10, 11]


@pytest.mark.parametrize(
    ("team", "environment"),
    [("Shop", "dev"), ("shop", "dev-"), ("s" * 41, "dev")],
)
def test_team_and_environment_are_names(project: Project, team: str, environment: str) -> None:
    text = CONFIG.replace("team: shop", f"team: {team}").replace("environment: dev", f"environment: {environment}")
    (problem,) = project.problems(text)
    assert (problem.rule, problem.line) == ("name", 3 if team != "shop" else 4)


def test_the_file_is_called_as_team_and_environment_say(project: Project) -> None:
    (line,) = project.lines(CONFIG.replace("environment: dev", "environment: prod"))
    assert line == (
        "Pulumi.shop-dev.yaml:3 team: The stack is called shop-dev, but team and environment make shop-prod. "
        "Call the file Pulumi.shop-prod.yaml, or change team or environment."
    )


@pytest.mark.parametrize("name", ["shop-dev.yaml", "Pulumi.shop-dev.yml", "Pulumi.yaml"])
def test_a_file_of_another_name_is_rejected(tmp_path: Path, name: str) -> None:
    file = tmp_path / "stacks" / name
    file.parent.mkdir()
    file.write_text(CONFIG)
    with pytest.raises(StackError, match="is not a stack file's name"):
        load_file(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The file is empty."),
        ("- a\n", "The file has no keys at the top."),
        ("config: a\n", "config holds no keys."),
    ],
)
def test_a_file_of_another_kind_is_rejected(project: Project, text: str, message: str) -> None:
    assert message in [problem.message for problem in project.problems(text)]


def test_a_misspelt_region_is_blamed_itself_and_not_the_zones_of_the_region_that_was_meant(project: Project) -> None:
    text = CONFIG.replace("eu-west-1", "us-esat-1") + "  multiarch-eks:network: {zones: [us-east-1a, us-east-1b]}\n"
    (problem,) = project.problems(text)
    assert (problem.rule, problem.key, problem.line) == ("region", "aws:region", 2)
    assert problem.hint.startswith("Did you mean us-east-1?")


def test_places_below_the_working_folder_are_relative(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.root)
    (problem,) = project.problems(f"{CONFIG}      colour: red\n")
    assert str(problem).startswith("config/stacks/Pulumi.shop-dev.yaml:10 nodeGroups.web.colour: ")


def test_the_engines_texts_make_the_same_stack(project: Project) -> None:
    text = f"{CONFIG}  multiarch-eks:deletionProtection: true\n  multiarch-eks:tags: {{a: b}}\n"
    settings = with_defaults("      tags: {c: d}\n")
    loaded = project.load(text, project=settings)
    config = {
        "aws:region": "eu-west-1",
        "multiarch-eks:team": "shop",
        "multiarch-eks:environment": "dev",
        "multiarch-eks:owner": "shop@example.com",
        "multiarch-eks:costCenter": "4711",
        "multiarch-eks:deletionProtection": "true",
        "multiarch-eks:tags": '{"a":"b"}',
        "multiarch-eks:nodeGroups": json.dumps({"web": {"instanceTypes": ["m7i.large"]}}),
        "multiarch-eks:defaults": json.dumps({"tags": {"c": "d"}}),
    }
    assert load_from_engine("shop-dev", config, file=project.file, project_file=project.root / "Pulumi.yaml") == loaded


def test_an_engine_value_that_no_file_holds_is_rejected_without_a_place(project: Project) -> None:
    project.write(CONFIG)
    config = {f"multiarch-eks:{key}": value for key, value in {"team": "shop", "nodeGroup": '{"a": 1}'}.items()}
    with pytest.raises(StackError) as rejected:
        load_from_engine("shop-dev", config, file=project.file, project_file=None)
    lines = {problem.key: problem.line for problem in rejected.value.problems}
    assert lines == {"environment": 1, "owner": 1, "costCenter": 1, "nodeGroup": 1}


@pytest.mark.parametrize("value", ["[" * 100_000, '{"a":' * 100_000])
def test_values_from_the_engine_that_are_nested_too_deeply_are_rejected(project: Project, value: str) -> None:
    with pytest.raises(StackError):
        load_from_engine("shop-dev", {"multiarch-eks:nodeGroups": value}, file=project.file, project_file=None)


def test_the_project_is_found_from_below(project: Project, tmp_path: Path) -> None:
    project.write(CONFIG)
    assert find_project_root(project.file.parent) == tmp_path
    assert list_stack_files(tmp_path) == [project.file]


def test_another_pulumi_project_is_not_taken_for_this_one(project: Project, tmp_path: Path) -> None:
    project.write(CONFIG)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "Pulumi.yaml").write_text("name: multiarch-eks-fork\n")
    assert find_project_root(inner) == tmp_path
    (tmp_path / "Pulumi.yaml").write_text("name: other\n")
    with pytest.raises(MultiarchError, match=r"no Pulumi\.yaml of the project multiarch-eks"):
        find_project_root(inner)


def test_reviews_compare_the_defaults_of_sections_that_the_file_omits(project: Project) -> None:
    spec = project.load(CONFIG).spec
    values = spec.with_all_sections().model_dump(by_alias=True)
    assert (spec.rebalance, values["rebalance"]["maxPods"]) == (None, 20)
    assert values["admissionWebhook"]["configuration"]["mode"] == "tolerate"


def test_free_text_may_name_what_is_in_another_partition(project: Project) -> None:
    arn = "arn:aws-cn:iam::111122223333:role/x"
    free = f"tags: {{plan: '{arn}'}}\n  multiarch-eks:acknowledge: {{open-to-all: '{arn}'}}\n"
    assert project.load(f"{CONFIG}  multiarch-eks:{free}").spec.tags == {"plan": arn}
