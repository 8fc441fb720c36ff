"""Whatever a team may write comes through the real parsers as it was."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from string import ascii_letters, ascii_lowercase, digits

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from multiarch.facts.ami_families import AmiFamily
from multiarch.facts.limits import NameKind, check_name
from multiarch.facts.taints import Effect, Taint
from multiarch.nodes.labels_taints import explain_restricted_label
from multiarch.nodes.model import BootstrapCase, ClusterFacts
from multiarch.nodes.user_data import render_user_data
from multiarch.nodes.user_data.script import complete_script
from multiarch.schema.nodes import KUBELET_FLAG
from tests.nodes.builders import GroupOptions, node_group
from tests.nodes.user_data import reading

pytestmark = pytest.mark.tools

# Of letters: strategies that follow a regular expression take several times as long.
lower = ascii_lowercase + digits
inside = st.text(ascii_letters + digits + "-_.", max_size=20)
names = st.sampled_from(ascii_letters + digits) | st.builds(
    "{}{}{}".format, st.sampled_from(ascii_letters + digits), inside, st.sampled_from(ascii_letters + digits)
)
domains = st.builds(
    "{}{}{}.{}".format,
    st.sampled_from(lower),
    st.text(lower + "-", max_size=8),
    st.sampled_from(lower),
    st.lists(st.text(ascii_lowercase, min_size=2, max_size=5), min_size=1, max_size=2).map(".".join),
)
keys = names | st.builds("{}/{}".format, domains, names)
values = st.just("") | names
labels = st.dictionaries(keys.filter(lambda key: explain_restricted_label(key) is None), values, max_size=6)
taints = st.lists(
    st.builds(Taint, keys, values, st.sampled_from(Effect)),
    max_size=6,
    unique_by=lambda taint: (taint.key, taint.effect),
)
flag_values = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\"'\\"), max_size=20)
flags = st.lists(st.builds("--feature-{}={}".format, st.sampled_from("abc"), flag_values), max_size=3)
# pydantic takes no lone surrogates, and neither YAML nor user data holds NUL.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
scripts = (texts | st.text(st.sampled_from("=-MULTIARCH\n\"'$`\\{}%PREBOOTSTRAP_1 "), max_size=80)).filter(bool)
printable = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=30)
clusters = st.builds(ClusterFacts, printable, printable, printable, st.just("10.100.0.0/16"))
bounded = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def options(labels: dict[str, str], taints: list[Taint], script: str = "", flags: tuple[str, ...] = ()) -> GroupOptions:
    return GroupOptions(tuple(labels.items()), tuple(taints), None, script, flags)


def as_read(taints: list[Taint]) -> list[dict[str, str]]:
    return [{"key": t.key, "value": t.value, "effect": str(t.effect)} for t in sorted(taints)]


@given(keys, values)
def test_the_strategies_write_what_the_schema_takes(key: str, value: str) -> None:
    assert check_name(NameKind.LABEL_KEY, key) is None
    assert check_name(NameKind.LABEL_VALUE, value) is None


@given(script=scripts, family=st.sampled_from([AmiFamily.AL2, AmiFamily.AL2023]))
def test_any_script_comes_through_the_archive(script: str, family: AmiFamily) -> None:
    text = render_user_data(
        node_group(family, BootstrapCase.EKS, options=GroupOptions(pre_bootstrap=script)), ClusterFacts("", "", "", "")
    )
    assert text.isascii()
    assert reading.mime_parts(text) == [(reading.SCRIPT, complete_script(script))]
    assert complete_script(script).removesuffix("\n").endswith(script.removesuffix("\n"))


@given(script=scripts, labels=labels, taints=taints)
def test_a_script_beside_a_node_config_disturbs_neither(
    script: str, labels: dict[str, str], taints: list[Taint]
) -> None:
    group = node_group(options=options(labels, taints, script))
    alone = node_group(options=options(labels, taints))
    cluster = ClusterFacts("c", "https://x", "eA==", "10.100.0.0/16")
    text = render_user_data(group, cluster)
    assert reading.part(text, reading.SCRIPT) == complete_script(script)
    assert reading.part(text, reading.NODE_CONFIG) == reading.part(
        render_user_data(alone, cluster), reading.NODE_CONFIG
    )


@given(labels=labels, taints=taints, cluster=clusters)
def test_bottlerocket_reads_any_labels_taints_and_cluster(
    labels: dict[str, str], taints: list[Taint], cluster: ClusterFacts
) -> None:
    group = node_group(AmiFamily.BOTTLEROCKET, options=options(labels, taints))
    kubernetes = reading.settings(render_user_data(group, cluster))["kubernetes"]
    assert kubernetes.get("node-labels", {}) == labels
    read = {(key, one) for key, several in kubernetes.get("node-taints", {}).items() for one in several}
    assert read == {(t.key, f"{t.value}:{t.effect}") for t in taints}
    assert (kubernetes["cluster-name"], kubernetes["api-server"]) == (cluster.name, cluster.endpoint)


@bounded
@given(labels=labels, taints=taints, flags=flags, script=scripts, cluster=clusters)
def test_bash_hands_anything_to_bootstrap_sh_and_the_kubelet_reads_it(
    labels: dict[str, str], taints: list[Taint], flags: list[str], script: str, cluster: ClusterFacts
) -> None:
    assume(all(re.fullmatch(KUBELET_FLAG, flag) for flag in flags))
    # The script is data here: an interpreter that only copies it shows what would be run.
    copied = "#!/usr/bin/env -S cp --target-directory=copies\n" + script
    group = node_group(AmiFamily.AL2, options=options(labels, taints, copied, tuple(flags)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "copies").mkdir()
        called = reading.run_al2(render_user_data(group, cluster), folder)
        (copy,) = (folder / "copies").iterdir()
        assert copy.read_bytes().decode() == complete_script(copied)
    line = reading.as_systemd(called["--kubelet-extra-args"])
    assert line[len(line) - len(flags) :] == flags
    assert reading.kubelet(line[: len(line) - len(flags)]) == reading.Node(labels, as_read(taints))
    assert (called[""], called["--apiserver-endpoint"]) == (cluster.name, cluster.endpoint)
    assert called["--b64-cluster-ca"] == cluster.certificate_authority


@bounded
@given(labels=labels, taints=taints, flags=flags, name=printable)
def test_nodeadms_types_and_the_kubelet_read_anything(
    labels: dict[str, str], taints: list[Taint], flags: list[str], name: str
) -> None:
    assume(all(re.fullmatch(KUBELET_FLAG, flag) for flag in flags))
    cluster = ClusterFacts(name, "https://x.example", "eA==", "10.100.0.0/16")
    group = replace(node_group(options=options(labels, taints, "", tuple(flags))), max_pods_written=True)
    spec = reading.node_config(reading.part(render_user_data(group, cluster), reading.NODE_CONFIG))["spec"]
    assert spec["cluster"]["name"] == name
    read = spec["kubelet"].get("flags") or []
    assert read[len(read) - len(flags) :] == flags
    assert reading.kubelet(read[: len(read) - len(flags)]) == reading.Node(labels, as_read(taints))
