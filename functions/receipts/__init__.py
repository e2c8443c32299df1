"""Takes in what providers say of messages that they accepted."""
