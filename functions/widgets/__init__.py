"""Draws the dashboards' custom widgets, with a role that reads and nothing else."""
