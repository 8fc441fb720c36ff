"""The sandbox's AWS: moto's server, and the parts of EKS and Auto Scaling that moto lacks."""
