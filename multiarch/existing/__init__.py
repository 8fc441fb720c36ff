"""From a cluster that exists to a stack that adds arm64 nodes to it: functions of what is observed."""
