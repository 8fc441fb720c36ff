module multiarch-eks/tools/machine

go 1.26.0
