"""A cluster of real nodes on this machine: a control plane, and a kubelet with containerd for each architecture.

By hand ``make cluster`` and ``make cluster-down``. In tests the fixture ``ready_nodes`` of
``tests/real_nodes/conftest.py``; elsewhere::

    with cluster.complete() as nodes:
        node = nodes.by_architecture[Architecture.ARM64]
        node.start_kubelet(["--register-with-taints=arch=arm64:NoSchedule"], provider_id="aws:///us-east-1a/i-0abc")
        node.ready()
        nodes.plane.kube.create(pod)  # images: sandbox.cluster.images, or any at 127.0.0.1:PORT
        node.ctr("images", "ls")  # node.settings.socket is containerd's

Everything is below ``nodes.plane.kubeconfig.parents[1]`` and below ``/run``, in a folder of the same name, and goes on
leaving, also when the owner is killed (:mod:`.guard`, :mod:`.leftovers`). On the arm64 node, kubelet and containerd are
arm64 programs under qemu-user; runc and containerd's shim are this machine's.
"""
