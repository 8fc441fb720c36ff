"""NVIDIA's device plugin, which tells the kubelet of a node's GPUs; images of Amazon Linux have only the drivers."""

from __future__ import annotations

from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN
from multiarch.facts.autoscalers import DEVICE_PLUGIN_CHART, DEVICE_PLUGIN_REPOSITORY

from ..component import Component
from ..kubernetes_api import Chart, ChildInCluster, InCluster


class DevicePlugin(ChildInCluster):
    """The plugin's release.

    The chart's own affinity waits for labels of Node Feature Discovery, and its tolerations miss the stack's taints.
    Its image has both architectures. Source: the chart's values.yaml.
    """

    def __init__(self, name: str, owner: Component, cluster: InCluster) -> None:
        """Declare the release."""
        super().__init__(name, owner, cluster)
        chart = Chart(DEVICE_PLUGIN.name, DEVICE_PLUGIN_CHART, DEVICE_PLUGIN_REPOSITORY)
        where = {key: DEVICE_PLUGIN.pod_spec[key] for key in ("affinity", "tolerations")}
        image = cluster.choose_image(DEVICE_PLUGIN.name)
        values = {"fullnameOverride": DEVICE_PLUGIN.name, **where, **({"image": image} if image else {})}
        self.declare_release(DEVICE_PLUGIN.name, chart, values)
        self.register_outputs({"chartVersion": DEVICE_PLUGIN_CHART})
