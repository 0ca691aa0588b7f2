"""``python -m truemix.cli`` does what ``truemix`` does."""

import sys

from truemix.cli import main

sys.exit(main())
