"""The cheapest change of a stack file under which every failure leaves each workload its minimum."""
