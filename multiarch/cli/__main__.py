"""``python -m multiarch.cli``."""

import sys

from multiarch.cli import main

sys.exit(main())
