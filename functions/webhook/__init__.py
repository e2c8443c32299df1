"""The webhook channel's consumer."""
