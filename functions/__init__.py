"""What runs in Lambda: one package per function, the domain in `core`, the outside in `adapters`."""
