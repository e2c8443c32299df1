"""The planner: turns schedules that are due into deliveries, and puts their ids on the queues."""
