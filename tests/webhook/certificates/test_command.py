"""``multiarch webhook certificates``: its options, and its errors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from multiarch.errors import OutsideError
from multiarch.kubernetes import cluster
from multiarch.webhook.certificates import run
from multiarch.webhook.certificates.rotation import Rules
from multiarch.webhook.certificates.run import Target
from multiarch.webhook.install.certificates import arguments
from multiarch.webhook.install.model import Installation
from tests.cli.running import runner, type_of_run

KUBECONFIG = """
current-context: here
clusters: [{name: here, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: here, context: {cluster: here, namespace: hooks}}]
"""


@pytest.fixture
def multiarch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> type_of_run:  # noqa: ANN401
    (tmp_path / "config").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    return runner(capsys)


@pytest.mark.parametrize(
    ("options", "target", "rules"),
    [
        (
            [],
            Target("hooks", "multiarch-webhook-tls", "zz-multiarch-webhook"),
            Rules(("multiarch-webhook.hooks.svc", "multiarch-webhook.hooks.svc.cluster.local")),
        ),
        (
            ["--namespace=n", "--secret=s", "--webhook=w", "--service=x", "--days=9"],
            Target("n", "s", "w"),
            Rules(("x.n.svc", "x.n.svc.cluster.local"), timedelta(days=9)),
        ),
    ],
)
def test_names_follow_from_the_service_and_the_pods_namespace(
    multiarch: type_of_run, monkeypatch: pytest.MonkeyPatch, options: list[str], target: Target, rules: Rules
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(run, "run", lambda _cluster, *given: seen.append(given[:2]))
    assert multiarch("webhook", "certificates", *options).code == 0
    assert seen == [(target, rules)]


def test_the_defaults_are_the_names_of_an_installation(multiarch: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(run, "run", lambda _cluster, *given: seen.append(given[:2]))
    installation = Installation(image="x", name="w", namespace="hooks")
    for options in (["webhook", "certificates", "--service=w"], arguments(installation)):
        assert multiarch(*options).code == 0
    assert seen == 2 * [
        (
            Target("hooks", installation.secret_name, installation.registration_name),
            Rules(tuple(installation.host_names)),
        )
    ]


@pytest.mark.parametrize("option", ["--service=A", "--namespace=a.b", f"--service={'a' * 64}", "--service=ü"])
def test_a_name_that_is_not_a_label_is_invalid(multiarch: type_of_run, option: str) -> None:
    ran = multiarch("webhook", "certificates", option)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {option.partition('=')[0]} must be a name")


def test_a_missing_secret_is_an_error_with_the_way_out(multiarch: type_of_run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.Cluster, "get", lambda *_: None)
    ran = multiarch("webhook", "certificates")
    assert ran.code == OutsideError.exit_code
    assert ran.err.startswith("error: There is no Secret hooks/multiarch-webhook-tls. Apply the webhook's objects")
