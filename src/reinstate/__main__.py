"""`python -m reinstate`: the command, where it is not on the path."""

import sys

from reinstate.cli import main

if __name__ == "__main__":
    sys.exit(main())
