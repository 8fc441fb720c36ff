"""The admission webhook: the release of its Helm chart, and the role that lets it read images of Amazon ECR."""

from __future__ import annotations

import os
from pathlib import Path

import pulumi

from multiarch import __version__
from multiarch.facts.admission import INSTALLATION_NAME as NAME
from multiarch.manifests import restricted
from multiarch.stack.model import AdmissionWebhookPlan

from ..component import Component
from ..iam import pod_identity, policies
from ..kubernetes_api import Chart, ChildInCluster, InCluster


class AdmissionWebhook(ChildInCluster):
    """The webhook as its chart, ``charts/multiarch-webhook``, installs it.

    Helm creates the MutatingWebhookConfiguration last and deletes it first, so that the API server never calls a
    webhook whose pods are gone. It waits for pods after that, and for a Service's address, not for pods behind it: the
    first calls fail, and the webhook's failure policy lets the pods pass. Source: helm v3, pkg/kube/ready.go.
    """

    def __init__(self, name: str, owner: Component, cluster: InCluster, plan: AdmissionWebhookPlan) -> None:
        """Declare namespace, role, Pod Identity association and release."""
        super().__init__(name, owner, cluster)
        # No other standard admits pods in the network of their nodes.
        standard = "privileged" if plan.values.host_network else "restricted"
        namespace = self.declare_object(
            NAME,
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": NAME, "labels": restricted.list_enforced_labels(standard)},
            },
        )
        before_pods: list[pulumi.Resource] = [namespace]
        if plan.ecr_repositories:
            policy = policies.read_repositories(self.account, plan.ecr_repositories)
            description = f"Admission webhook of {self.naming.cluster}"
            before_pods += pod_identity.give_policy(self, NAME, description, policy, after=[namespace], namespace=NAME)
        release = self.declare_release(
            NAME,
            # The provider sees a change of a chart in a folder by its version, which is that of the package.
            Chart(_locate_chart(), __version__),
            plan.values.chart_values(),
            after=before_pods,
            namespace=NAME,
        )
        # Known once the release is deployed: nothing else in a program of others would see that it is not.
        self.register_outputs({"namespace": release.apply(lambda _: NAME)})


def _locate_chart() -> str:
    """Return the chart's folder: in the wheel in the package, in a checkout beside it.

    Below the program's folder the path is relative, so that the state is the same on every machine.
    """
    here, program = Path(__file__).resolve().parents[1], Path.cwd()
    chart = next(each for each in (here / "charts" / NAME, here.parent / "charts" / NAME) if each.is_dir())
    # The program's folder may have links to the checkout's.
    for relative in (Path("charts", NAME), Path(os.path.relpath(chart, program.resolve()))):
        if ".." not in relative.parts and (program / relative).resolve() == chart:
            return str(relative)
    return str(chart)
