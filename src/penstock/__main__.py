"""``python -m penstock`` is the command line."""

from penstock.interfaces.cli.main import main

if __name__ == "__main__":
    main()
