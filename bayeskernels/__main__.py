"""``python -m bayeskernels``: the command line."""

from bayeskernels.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
