"""The check after a deployment: customers of its own, sent to for real, and cleared away."""
