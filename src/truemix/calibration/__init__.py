"""Calibration of posteriors: maps fitted on held-out items."""

from truemix.calibration.mix_correction import class_biases
from truemix.calibration.scaling import (
    CALIBRATORS,
    BiasCorrectedTemperatureScaling,
    Calibrator,
    NoBiasVectorScaling,
    TemperatureScaling,
    VectorScaling,
)

__all__ = [
    "CALIBRATORS",
    "BiasCorrectedTemperatureScaling",
    "Calibrator",
    "NoBiasVectorScaling",
    "TemperatureScaling",
    "VectorScaling",
    "class_biases",
]
