"""``make webhook-demo``: the webhook as pods of its own image on real nodes, and where three pods run because of it.

Everything is real but two things: the image stands on a stand-in for its base (:mod:`sandbox.webhook_image`), and the
arm64 node is emulated (:mod:`sandbox.cluster`).
"""
