"""The operators' pages of CloudWatch, served on this machine: dashboards, their custom widgets, alarms and runbooks."""
