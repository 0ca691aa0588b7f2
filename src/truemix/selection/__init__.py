"""Model selection: settings with the smallest error of the mix on bags of held-out items."""

from truemix.selection.grid_search import GridSearch, SearchInterrupted
from truemix.selection.temperature import TemperatureCalibration, calibrate_temperature

__all__ = ["GridSearch", "SearchInterrupted", "TemperatureCalibration", "calibrate_temperature"]
