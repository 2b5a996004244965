"""An estimator -> its parameters, a copy that learned nothing, checked vectors: scikit-learn's conventions, briefly.

Used where scikit-learn is not installed. Names and meanings are scikit-learn's; what only its own tools ask for
(tags, names of columns, output as data frames) is left out.
"""

import copy
import inspect
from typing import Any, Self

import numpy as np

from nearsong.errors import InvalidInputError
from nearsong.types import FloatArray
from nearsong.validation import check_vectors


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before ``fit``."""


class ConvergenceWarning(UserWarning):
    """A fit stopped before its tolerance was reached."""


class BaseEstimator:
    """Parameters are the arguments of ``__init__``, which stores them unchanged.

    Examples
    --------
    >>> class Scaled(BaseEstimator):
    ...     def __init__(self, factor=1.0, offset=0.0):
    ...         self.factor, self.offset = factor, offset
    >>> Scaled().set_params(factor=3.0)
    Scaled(factor=3.0)
    >>> clone(Scaled(offset=2.0)).get_params()
    {'factor': 1.0, 'offset': 2.0}
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """Return the parameters by name, with their default values."""
        if cls.__init__ is object.__init__:
            return {}
        arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {argument.name: argument.default for argument in sorted(arguments, key=lambda one: one.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also those of parameters that are estimators."""
        own = {name: getattr(self, name) for name in self._defaults()}
        nested: dict[str, Any] = {}
        for name, value in own.items():
            if deep and isinstance(value, BaseEstimator):
                nested |= {f"{name}__{inner}": of_inner for inner, of_inner in value.get_params().items()}
        return own | nested

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``estimator__parameter`` sets one of a parameter that is an estimator."""
        for name, value in params.items():
            own, _, inner = name.partition("__")
            if own not in self._defaults():
                known = ", ".join(self._defaults()) or "none"
                raise InvalidInputError(f"{type(self).__name__} has no parameter {own!r}; it has {known}.")
            if inner:
                getattr(self, own).set_params(**{inner: value})
            else:
                setattr(self, own, value)
        return self

    def __repr__(self) -> str:
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if repr(getattr(self, name)) != repr(default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"


class TransformerMixin:
    """Has ``fit`` and ``transform``."""

    def fit_transform(self, X: Any, y: Any = None, **more: Any) -> FloatArray:
        """Fit to X, then return X transformed."""
        estimator: Any = self
        fitted = estimator.fit(X, **more) if y is None else estimator.fit(X, y, **more)
        transformed: FloatArray = fitted.transform(X)
        return transformed


class OneToOneFeatureMixin:
    """Keeps the columns; scikit-learn's names them."""


class ClassNamePrefixFeaturesOutMixin:
    """Makes columns of its own; scikit-learn's names them."""


def clone(estimator: Any) -> Any:
    """Return an estimator of the same class and parameters that has learned nothing."""
    params = estimator.get_params(deep=False)
    copies = {
        name: clone(value) if isinstance(value, BaseEstimator) else copy.deepcopy(value)
        for name, value in params.items()
    }
    return type(estimator)(**copies)


def check_is_fitted(estimator: Any, attributes: str | None = None) -> None:
    """Raise `NotFittedError` unless an estimator has an attribute, or, without a name, any that ``fit`` sets."""
    if attributes is not None:
        is_fitted = hasattr(estimator, attributes)
    elif hasattr(estimator, "__sklearn_is_fitted__"):
        is_fitted = estimator.__sklearn_is_fitted__()
    else:
        is_fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(estimator))
    if not is_fitted:
        raise NotFittedError(f"This {type(estimator).__name__} instance is not fitted yet; call fit first.")


def validate_data(
    estimator: Any, X: Any, *, dtype: Any = np.float64, reset: bool = True, ensure_min_samples: int = 1
) -> FloatArray:
    """Return X as finite rows of float64; remember their length, or check that it is that of ``fit``."""
    assert dtype is np.float64, "every estimator here reads float64"
    rows = check_vectors(X)
    if len(rows) < ensure_min_samples:
        raise InvalidInputError(f"X has {len(rows)} song(s); at least {ensure_min_samples} are needed.")
    if reset:
        estimator.n_features_in_ = rows.shape[1]
    elif rows.shape[1] != (expected := getattr(estimator, "n_features_in_", rows.shape[1])):
        raise InvalidInputError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting {expected} features as "
            "input."
        )
    return rows


def check_random_state(seed: Any) -> np.random.RandomState:
    """Return the random numbers of a seed, a `RandomState` itself, or for None NumPy's own."""
    if isinstance(seed, np.random.RandomState):
        return seed
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    return np.random.RandomState(seed)
