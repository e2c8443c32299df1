"""Where an email provider's signed webhooks arrive."""
