"""scikit-learn's conventions -> what estimators are made of: its own where it is installed, else `plain`'s.

So estimators are scikit-learn's where there is scikit-learn, and learn the same without it. Loading it takes a
second: modules that scans and light commands load import this one when they need it.
"""

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.exceptions import ConvergenceWarning, NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:  # not installed, or older than 1.6, which has no validate_data
    from nearsong.estimators.plain import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ConvergenceWarning,
        NotFittedError,
        OneToOneFeatureMixin,
        TransformerMixin,
        check_is_fitted,
        check_random_state,
        clone,
        validate_data,
    )

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ConvergenceWarning",
    "NotFittedError",
    "OneToOneFeatureMixin",
    "TransformerMixin",
    "check_is_fitted",
    "check_random_state",
    "clone",
    "validate_data",
]
