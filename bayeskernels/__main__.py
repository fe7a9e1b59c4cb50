"""``python -m bayeskernels``: the command line."""

from bayeskernels.command.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
