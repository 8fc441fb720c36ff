"""``make verify-demo``: what ``multiarch verify`` says about a healthy cluster, and then about four faults in it.

Real are the stack (the Pulumi engine has made it, in moto), the control plane with its Nodes and pods, the registry
and the commands. The machines are stand-ins: no instance boots, so this package writes what a kubelet would report
about its Node, with the plan's labels and taints, and what the node itself would answer through SSM.
"""
