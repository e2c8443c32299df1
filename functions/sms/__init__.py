"""The sms channel's consumer."""
