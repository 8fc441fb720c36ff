"""The node bridge: a ready Node for every running instance, and the little of a kubelet that the API server waits for.

It stands in for EC2 booting an image and for the kubelet on it; everything else in a test cluster is the real part.
"""

from __future__ import annotations

import contextlib

from sandbox.cluster.kube import Kube, KubeError
from tests.cluster import nodes
from tests.cluster.aws import Aws, Instance
from tests.cluster.kubelets import Kubelets


class Bridge(Kubelets):
    """Looks at AWS too."""

    pause = 0.3

    def __init__(self, kube: Kube, aws: Aws) -> None:
        """Nothing runs yet; see :meth:`running`."""
        super().__init__(kube)
        self._aws = aws
        self._known: dict[str, str] = {}  # instance id: name of its Node
        self._controls = aws.controls
        self._changes = -1

    def step(self) -> None:
        """Bring Nodes and pods up to what EC2 and the scheduler say."""
        # Requests that come after this number was read are looked at in the next step.
        changes = self._controls.changes()
        if changes != self._changes:
            self._follow_instances()
            self._changes = changes
        super().step()

    def _follow_instances(self) -> None:
        """Let the Nodes of instances that are gone leave, and those of new ones join."""
        instances = {row["InstanceId"]: row for row in self._aws.running_instances()}
        # Those that leave come first: a new instance may have the address, and so the name, of an old one.
        for identifier in sorted(self._known.keys() - instances.keys()):
            # As the cloud controller does.
            name = self._known.pop(identifier)
            self._kube.delete({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        for identifier in sorted(instances.keys() - self._known.keys()):
            self._join(instances[identifier])

    def _join(self, instance: Instance) -> None:
        tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        node_class = self._kube.get("karpenter.k8s.aws/v1", "EC2NodeClass", tags["karpenter.k8s.aws/ec2nodeclass"])
        if node_class is None:
            return  # being deleted
        made = nodes.node(instance, nodes.for_karpenter(node_class["spec"]))
        try:
            self._kube.create(made)
        except KubeError as error:
            if error.reason != "AlreadyExists":
                raise
            with contextlib.suppress(KubeError):  # gone meanwhile
                self._kube.patch(made, {"status": made["status"]}, part="status")
        self._known[instance["InstanceId"]] = made["metadata"]["name"]
