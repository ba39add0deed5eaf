"""The command line: `kernelqp solve FILE` and `kernelqp problems`."""

from kernelqp.cli.main import app

__all__ = ["app"]
