"""The reconciler: finds what the queues lost, what is due again and what came too late."""
