"""The true mix of classes in an unlabelled batch, and how sure we are."""

from truemix._version import __version__

__all__ = ["__version__"]
