"""The command line: `kai-terminal demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; returns the exit code."""
    parser = argparse.ArgumentParser(prog="kai-terminal", description="Terminal sessions that a program can hold.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="do the main job on real programs and show what came back")
    options = parser.parse_args(arguments)
    if options.command == "demo":
        from .demo import demo

        return demo()
    return 2


if __name__ == "__main__":
    sys.exit(main())
