"""Can the answer be trusted? Checks of what every quantifier assumes."""

from truemix.checks.checking import label_shift, label_shift_by
from truemix.checks.possible import why_not
from truemix.checks.shift_check import ShiftCheck

__all__ = ["ShiftCheck", "label_shift", "label_shift_by", "why_not"]
