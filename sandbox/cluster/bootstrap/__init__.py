"""How a node's kubelet is started, read from user data as a node of each AMI family reads it.

The readers share no code with :mod:`multiarch.nodes.user_data`, which writes user data: they use standard parsers
(email, shlex, YAML, TOML) and follow the sources of the images. They run nothing of what they read.
"""
