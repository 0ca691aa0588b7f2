"""From names and options of the command line to quantifiers and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truemix._method_names import about_method
from truemix._typing import AnyArray
from truemix.cli._options import DEFAULT_METHOD, METHODS, POINT_METHODS, MethodOptions
from truemix.exceptions import InputError
from truemix.validation import RANGES, shown_list, shown_value

if TYPE_CHECKING:
    from truemix.quantifiers import Quantifier

DEFAULT_LEVEL = 0.95
# Parameters that are numbers or names.
READ_AS_TEXT = {"bandwidth", "shrinkage", "calibration", "reference_uncertainty"}
_BOOTSTRAP = "bootstrap-"
_CONSTANTS = {"none": None, "true": True, "false": False}


def seed_of(options: MethodOptions) -> int:
    """Return the seed; without an option a fixed one, so that results can be repeated."""
    if options.seed is not None and options.seed < 0:
        raise InputError(f"The option --seed is {options.seed}; expected a whole number from 0 on.")
    return options.seed or 0


def given_parameters(options: MethodOptions) -> dict[str, Any]:
    """Return the parameters that were given, as quantifiers take them, without the prior."""
    return {
        name: value_of(value) if name in READ_AS_TEXT else value
        for name, value in vars(options).items()
        if name not in {"method", "prior", "seed"} and value is not None
    }


def arguments_of(given: Mapping[str, Any]) -> list[str]:
    """Return the arguments that give these options again."""
    arguments: list[str] = []
    for name, value in given.items():
        if value is True:
            arguments.append(option_of(name))
        elif value is not None and value is not False:
            for one in value if isinstance(value, list) else [value]:
                arguments += [option_of(name), f"{one}"]
    return arguments


def option_of(parameter: str) -> str:
    """Return the option that sets a parameter."""
    return "--" + parameter.replace("_", "-")


def value_of(text: str) -> Any:
    """Return a value from the command line: a number, true, false, none, or text as it is.

    Examples
    --------
    >>> value_of("0.5"), value_of("10"), value_of("none"), value_of("auto")
    (0.5, 10, None, 'auto')
    """
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def method_name(text: str | None) -> str:
    """Return the name of a method from any spelling of it; of the default one if none is given."""
    if text is None:
        return DEFAULT_METHOD
    letters = "".join(letter for letter in text.lower() if letter.isalnum())
    for name in METHODS:
        if name.replace("-", "") == letters:
            return name
    if letters == "bootstrap":
        raise InputError(
            "The method bootstrap repeats a point method; say which one, for example "
            "--method bootstrap-kdey."
        )
    if about := about_method(text):
        sentence, nearest = about
        option = method_name("bootstrap-kdey" if nearest == "Bootstrap" else nearest)
        raise InputError(f"{sentence}: use --method {option}.")
    raise InputError(f"There is no method {text!r}; expected one of {', '.join(METHODS)}.")


def level_of(level: float | None, method: str | None) -> float:
    """Return the level of intervals, if the method gives any."""
    from truemix.estimates.intervals import check_level

    if level is None:
        return DEFAULT_LEVEL
    name = method_name(method)
    if name in POINT_METHODS:
        raise InputError(
            f"The method {name} gives no intervals, so --level has no meaning; leave it out, or "
            "choose pq or a method that begins with bayesian or bootstrap."
        )
    return check_level(level)


def quantifier_of(options: MethodOptions) -> Quantifier:
    """Return the unfitted quantifier, checked as far as that is possible without classes."""
    name = method_name(options.method)
    quantifier = _default(name)
    known = _parameters(quantifier)
    given = given_parameters(options)
    for parameter in [*given, *(["prior"] if options.prior else [])]:
        if parameter not in known:
            owners = [each for each in METHODS if parameter in _parameters(_default(each))]
            raise InputError(
                f"The method {name} has no {parameter}; methods that have {option_of(parameter)} "
                f"are {', '.join(owners)}. Leave the option out or choose one of these."
            )
    if "random_state" in known:
        given["random_state"] = seed_of(options)
    quantifier.set_params(**{known[parameter]: value for parameter, value in given.items()})
    if options.prior:
        _check_prior(options.prior, name)
    quantifier.scoring()
    return quantifier


def _default(name: str) -> Quantifier:
    from truemix import quantifiers

    if name.startswith(_BOOTSTRAP):
        return quantifiers.Bootstrap(_default(name.removeprefix(_BOOTSTRAP)))
    classes = {each.lower(): each for each in quantifiers.__all__}
    made: Quantifier = getattr(quantifiers, classes[name.replace("-", "")])()
    return made


def _parameters(quantifier: Quantifier) -> dict[str, str]:
    """Return the parameters that can be set, and their names inside, which a bootstrap nests."""
    return {name.removeprefix("quantifier__"): name for name in quantifier.get_params(deep=True)}


def prior_of(texts: list[str], classes: AnyArray) -> Any:
    """Return a prior from what was typed: a number, mapls, or numbers with class names.

    Examples
    --------
    >>> import numpy as np
    >>> prior_of(["ham=2,spam=1"], np.array(["ham", "spam"]))
    {'ham': 2.0, 'spam': 1.0}
    """
    if len(texts) == 1 and "=" not in texts[0]:
        return value_of(texts[0])
    by_name = {str(label): label for label in classes.tolist()}
    prior: dict[Any, float] = {}
    for text in texts:
        # A class name may hold commas; then it needs an option of its own.
        whole = text.rpartition("=")[0] in by_name
        for pair in [text] if whole else text.split(","):
            name, _, value = pair.rpartition("=")
            if name not in by_name:
                raise InputError(
                    f"The option --prior names the class {name!r}; expected one of "
                    f"{shown_list(list(by_name))}."
                )
            prior[by_name[name]] = _prior_number(value, text)
    return prior


def _check_prior(texts: list[str], name: str) -> None:
    """Refuse what cannot be a prior, before any file is read."""
    if texts != ["mapls"]:
        for text in texts:
            _, sign, value = text.rpartition("=")
            # Without a class, a number must be the only one.
            _prior_number(value if sign or len(texts) == 1 else "", text)
    elif name != "bayesian-emq":
        raise InputError(
            f"The adaptive prior mapls belongs to the method bayesian-emq, not to {name}; give "
            "a number, or choose that method."
        )


def _prior_number(value: str, text: str) -> float:
    number = value_of(value)
    if number not in RANGES["prior"]:
        raise InputError(
            f"The option --prior is {shown_value(text)}; expected a positive number "
            f"({RANGES['prior']}) for all classes, or CLASS=NUMBER for each of them."
        )
    return float(number)
