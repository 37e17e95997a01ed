"""`python -m kerntrace`."""

import sys

from kerntrace.cli import main

if __name__ == "__main__":
    sys.exit(main())
