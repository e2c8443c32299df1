"""The tables and a mailer in memory, for notebooks and tests."""
