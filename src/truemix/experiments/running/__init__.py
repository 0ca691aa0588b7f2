"""The work on one data set: score items, choose settings, judge methods, write results."""

from truemix.experiments.running.jobs import Job, Report
from truemix.experiments.running.work import run_dataset, run_loaded

__all__ = ["Job", "Report", "run_dataset", "run_loaded"]
