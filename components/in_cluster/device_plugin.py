"""Device plugins, which tell the kubelet of a node's GPUs or EFA interfaces; images have only the drivers."""

from __future__ import annotations

from multiarch.facts.addon_daemon_sets import DEVICE_PLUGIN, AddOnDaemon, list_efa_types
from multiarch.facts.autoscalers import DEVICE_PLUGIN_CHARTS, IMAGES
from multiarch.facts.labels import INSTANCE_TYPE

from ..component import Component
from ..kubernetes_api import Chart, ChildInCluster, InCluster, Manifest


class DevicePlugin(ChildInCluster):
    """The release of one plugin.

    The tolerations of both charts miss the stack's taints. The affinity of NVIDIA's waits for labels of Node Feature
    Discovery, and that of the EFA plugin has a list of instance types, in whose place there is one with the types of
    the project's table too. Both images have both architectures. Source: the charts' values.yaml.
    """

    def __init__(self, owner: Component, cluster: InCluster, plugin: AddOnDaemon) -> None:
        """Declare the release."""
        gpus, name = plugin is DEVICE_PLUGIN, plugin.name
        super().__init__("device-plugin" if gpus else "efa-device-plugin", owner, cluster)
        repository, version = DEVICE_PLUGIN_CHARTS[name]
        image = cluster.choose_image(name) or ({} if gpus else {"repository": "/".join(IMAGES[name])})
        where: Manifest = (
            {"affinity": plugin.pod_spec["affinity"]}
            if gpus
            else {"supportedInstanceLabels": {"keys": [INSTANCE_TYPE], "values": list_efa_types()}}
        )
        values = {"fullnameOverride": name, "tolerations": plugin.pod_spec["tolerations"], **where}
        self.declare_release(name, Chart(name, version, repository), values | ({"image": image} if image else {}))
        self.register_outputs({"chartVersion": version})
