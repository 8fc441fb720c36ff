"""AWS on this machine: moto, stand-ins for Pulumi's providers, and the commands that start and stop them."""
