"""`python -m rig.extras.cli`, the same as the command `rig`."""

import sys

from rig.extras.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
