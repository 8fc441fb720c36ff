"""What a team may write in ``config/stacks/Pulumi.TEAM-ENV.yaml``.

The models are strict: a key that is not named here is an error, a string is not a number. They hold the
team's settings and nothing derived; ``multiarch.stack.plan`` derives the rest. ``config/stack.schema.json`` is
generated from them, so every field's description is what an editor shows. ``stack.StackSpec`` is the whole; the other
modules hold its sections.
"""
