"""Texts that customers send: STOP and its siblings end every text to that number."""
