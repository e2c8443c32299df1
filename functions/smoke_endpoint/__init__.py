"""An endpoint of our own, which the check after a deployment has a webhook sent to."""
