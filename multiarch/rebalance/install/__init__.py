"""The objects of the CronJob that rebalances: what the component declares, and tests apply."""
