"""Which capacity a pod gets: the priority expander, Karpenter's objects, and the scale-up that either would choose."""
