"""The webhook's certificates without a manual step: issued, and rotated so that the API server trusts every one served.

The state is in two objects. The Secret has what the webhook serves (``tls.crt``, ``tls.key``, ``ca.crt``) and, during a
rotation, what it serves next; each entry of the MutatingWebhookConfiguration has the CAs that the API server trusts.
The objects are applied without ``data`` and without ``caBundle``, so that no later apply, Helm upgrade or ``pulumi up``
changes what is written here.

A rotation writes the next certificate into the Secret, adds its CA to every ``caBundle``, waits until the API servers
have seen that, and only then lets the webhook serve it; the old CA stays until all replicas have reloaded. A key that
signs is never written anywhere: each rotation makes a CA of its own and forgets its key.

The rights that it needs are ``get`` and ``patch`` of these two objects, by their names, and nothing else.
"""
