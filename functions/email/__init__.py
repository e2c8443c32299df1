"""The email channel's consumer."""
