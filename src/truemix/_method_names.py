"""Names of methods that truemix calls otherwise, or does not have, and what is nearest."""

from __future__ import annotations

# The same method by another name.
_SAME = {
    "SLD": "EMQ",
    "MLLS": "EMQ",
    "BBSE": "ACC",
    "BBSEhard": "ACC",
    "GAC": "ACC",
    "GACC": "ACC",
    "BBSEsoft": "PACC",
    "GPAC": "PACC",
    "GPACC": "PACC",
    "KDEyML": "KDEy",
    "BayesianCC": "BayesianACC",
    "BayesianMAPLS": "BayesianEMQ",
    "MAPLS": "BayesianEMQ",
    "AggregativeBootstrap": "Bootstrap",
}
_HISTOGRAM = "it matches histograms of posteriors"
_KERNEL = "it matches kernel densities of posteriors by another divergence"
_FEATURES = "it matches the distribution of features"
_THRESHOLD = "it is ACC at other thresholds, for two classes"
_NETWORK = "it is a neural network that learns from bags"
# Another method: what it does, and the nearest one.
_NEAREST = {
    "HDy": (_HISTOGRAM, "KDEy"),
    "DyS": (_HISTOGRAM, "KDEy"),
    "TopsoeDyS": (_HISTOGRAM, "KDEy"),
    "DMy": (_HISTOGRAM, "KDEy"),
    "SORD": (_HISTOGRAM, "KDEy"),
    "SMM": ("it matches the mean of the posteriors", "PACC"),
    "EDy": ("it matches distances between posteriors", "KDEy"),
    "KDEyHD": (_KERNEL, "KDEy"),
    "KDEyCS": (_KERNEL, "KDEy"),
    "HDx": (_FEATURES, "KDEy"),
    "DMx": (_FEATURES, "KDEy"),
    "EDx": (_FEATURES, "KDEy"),
    "ReadMe": (_FEATURES, "KDEy"),
    "MS": (_THRESHOLD, "PACC"),
    "MS2": (_THRESHOLD, "PACC"),
    "T50": (_THRESHOLD, "PACC"),
    "MAX": (_THRESHOLD, "PACC"),
    "RLLS": ("it is ACC, regularised", "BayesianACC"),
    "QuaNet": (_NETWORK, "KDEy"),
    "HistNetQ": (_NETWORK, "KDEy"),
    "GMNet": (_NETWORK, "KDEy"),
}


def about_method(name: str) -> tuple[str, str] | None:
    """Return what to say of a method that has no such name here, and the nearest one.

    Any spelling will do. None for a name that nobody knows.

    Examples
    --------
    >>> about_method("hdy")
    ('HDy is not part of truemix (...); the nearest is KDEy', 'KDEy')
    >>> about_method("SLD")
    ('SLD is called EMQ here', 'EMQ')
    >>> about_method("Linda")
    """
    letters = _letters(name)
    for known, ours in _SAME.items():
        if _letters(known) == letters:
            return f"{known} is called {ours} here", ours
    for known, (what, ours) in _NEAREST.items():
        if _letters(known) == letters:
            return f"{known} is not part of truemix ({what}); the nearest is {ours}", ours
    return None


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
