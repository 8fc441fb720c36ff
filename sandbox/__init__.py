"""AWS on this machine: moto, the providers' stand-ins, starting and stopping it all."""
