"""What has to happen once before the tests, not once in each of their processes."""

import warnings


def pytest_configure(config):
    """Import ArviZ before the workers start.

    On its first import of a day it writes a file in the user's cache by way of a temporary one of a
    fixed name; of two processes that do so at once, one fails.
    """
    if not hasattr(config, "workerinput"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import arviz  # noqa: F401
