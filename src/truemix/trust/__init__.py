"""Can an estimate be trusted here, and what to do if not."""
