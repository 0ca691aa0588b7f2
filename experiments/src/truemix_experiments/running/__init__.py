"""The work on one data set: score items, choose settings, evaluate methods, write results."""

from truemix_experiments.running.jobs import Job, Report
from truemix_experiments.running.work import run_dataset, run_loaded

__all__ = ["Job", "Report", "run_dataset", "run_loaded"]
