"""Takes a channel's jobs one request at a time, from a managed HTTP queue that pushes them."""
