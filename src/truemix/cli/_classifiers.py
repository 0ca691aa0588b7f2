"""Standard pipelines for feature columns, so that no file needs preparing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from truemix.cli._features import MAX_CATEGORIES, Features
from truemix.cli._methods import value_of
from truemix.cli._options import CLASSIFIERS
from truemix.exceptions import InputError

# With fewer rows than this, threads cost more time than they save.
_MANY_ROWS = 20_000


@dataclass(frozen=True)
class ClassifierChoice:
    """Which classifier to train, and parameters that differ from the usual ones."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The choice as the command line takes it."""
        pairs = ",".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"{self.name}:{pairs}" if pairs else self.name


def classifier_choice(text: str) -> ClassifierChoice:
    """Return the classifier that an option names, such as ``logistic`` or ``logistic:C=0.1``."""
    name, _, rest = text.partition(":")
    name = name.lower().replace("_", "-")
    if name not in CLASSIFIERS:
        raise InputError(
            f"There is no classifier {name!r}; expected one of {', '.join(CLASSIFIERS)}."
        )
    parameters = {}
    for pair in filter(None, rest.split(",")):
        parameter, sign, value = pair.partition("=")
        if not sign:
            raise InputError(
                f"The option --classifier has {pair!r} after the name; expected NAME=VALUE, as in "
                "logistic:C=0.1."
            )
        parameters[parameter] = value_of(value)
    check_parameters(name, parameters)
    return ClassifierChoice(name, parameters)


def check_parameters(name: str, parameters: Iterable[str]) -> None:
    """Refuse parameters that a classifier does not have."""
    for parameter in parameters:
        known = _model(name, 0).get_params()
        if parameter not in known:
            raise InputError(
                f"The classifier {name} has no parameter {parameter!r}; expected one of "
                f"{', '.join(sorted(known))}."
            )


@contextmanager
def few_threads(n_rows: int) -> Iterator[None]:
    """Let boosting train on little data, or score it, with one thread.

    Its threads wait for each other at every split; where others use the cores too, that takes many
    times longer than doing without.
    """
    if n_rows >= _MANY_ROWS:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        yield


def pipeline(choice: ClassifierChoice, features: Features, seed: int) -> Any:
    """Return the unfitted classifier with what its features need."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    categorical = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False
    )
    n_numeric, n_all = len(features.numeric), len(features.types)
    # By their places, as Features.array lays them out.
    steps = [
        ("numeric", _numeric(choice.name), slice(0, n_numeric)),
        ("categorical", categorical, slice(n_numeric, n_all)),
    ]
    steps = [step for step in steps if step[2].start < step[2].stop]
    model = _model(choice.name, seed).set_params(**choice.parameters)
    return Pipeline([("prepare", ColumnTransformer(steps)), ("model", model)])


def _numeric(name: str) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "gradient-boosting":
        # Its trees handle missing values, and do not depend on scale.
        return "passthrough"
    # A fold may have no value of a column that is nearly empty.
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    if name == "random-forest":
        return fill
    return Pipeline([("fill", fill), ("scale", StandardScaler())])


def _model(name: str, seed: int) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=5000, random_state=seed)
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    if name == "random-forest":
        return RandomForestClassifier(n_estimators=300, n_jobs=-1, random_state=seed)
    return HistGradientBoostingClassifier(random_state=seed)
