"""The operator's command line, `digest`."""

from ops.cli.app import main

__all__ = ["main"]
