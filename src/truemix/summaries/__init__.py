"""Batches in bounded memory: summaries that can be merged, saved, and quantified."""

from truemix.summaries.files import is_summary
from truemix.summaries.groups import merge_groups
from truemix.summaries.summary import Summary

__all__ = ["Summary", "is_summary", "merge_groups"]
