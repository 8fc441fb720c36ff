module multiarch-eks/tools/node-termination-handler

go 1.26.6

require github.com/aws/aws-node-termination-handler v1.25.6
