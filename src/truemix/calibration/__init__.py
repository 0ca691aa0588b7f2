"""Calibration of posteriors: maps fitted on held-out items."""

from truemix.calibration.scaling import (
    CALIBRATORS,
    BiasCorrectedTemperatureScaling,
    Calibrator,
    NoBiasVectorScaling,
    TemperatureScaling,
    VectorScaling,
    class_biases,
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
