"""What people run: the operator's command line and the local run."""
