"""``python -m tideline`` is the command ``tideline``."""

import sys

from .tool import main

sys.exit(main())
