"""Estimators without scikit-learn: `plain` keeps the conventions that nearsong needs of it."""

import pickle

import numpy as np
import pytest
import sklearn.base
import sklearn.exceptions
import sklearn.utils
from sklearn.utils import validation

from nearsong import estimators
from nearsong.errors import InvalidInputError
from nearsong.estimators import plain


def test_where_scikit_learn_is_installed_the_names_are_its_own():
    assert estimators.BaseEstimator is sklearn.base.BaseEstimator
    assert estimators.NotFittedError is sklearn.exceptions.NotFittedError
    assert estimators.validate_data is validation.validate_data
    assert all(hasattr(plain, name) for name in estimators.__all__)


def scaled(base, mixin):
    """Return an estimator with parameters, one of which may be an estimator."""

    class Scaled(mixin, base):
        def __init__(self, factor=1.0, inner=None, *, keep=True):
            self.factor, self.inner, self.keep = factor, inner, keep

        def fit(self, X, y=None):
            self.means_ = np.mean(X, axis=0)
            return self

        def transform(self, X):
            return (X - self.means_) * self.factor

    return Scaled


Ours = scaled(plain.BaseEstimator, plain.TransformerMixin)
Theirs = scaled(sklearn.base.BaseEstimator, sklearn.base.TransformerMixin)


def test_parameters_copies_and_results_are_those_of_scikit_learn():
    given = {"factor": 2.0, "inner__factor": 3.0}
    ours, theirs = (kind(inner=kind()).set_params(**given) for kind in (Ours, Theirs))
    plain_values = [
        {name: value for name, value in one.get_params().items() if name != "inner"} for one in (ours, theirs)
    ]
    assert plain_values[0] == plain_values[1] == {**given, "keep": True, "inner__inner": None, "inner__keep": True}
    assert list(ours.get_params(deep=False)) == list(theirs.get_params(deep=False))
    assert repr(ours) == repr(theirs).replace("\n", " ").replace("  ", "")
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(ours.fit_transform(X), theirs.fit_transform(X))
    copies = plain.clone(ours), sklearn.base.clone(theirs)
    for copied, original in zip(copies, (ours, theirs), strict=True):
        assert not hasattr(copied, "means_")
        assert copied.inner is not original.inner
        assert copied.inner.factor == 3.0


def test_an_unknown_parameter_is_refused_by_name():
    with pytest.raises(InvalidInputError, match=r"^Scaled has no parameter 'size'; it has factor, inner, keep\.$"):
        Ours().set_params(size=1)


def test_what_is_not_fitted_says_so_as_scikit_learn_does():
    for is_fitted in (plain.check_is_fitted, validation.check_is_fitted):
        fitted = Theirs().fit([[1.0]])
        is_fitted(fitted)
        is_fitted(fitted, "means_")
        with pytest.raises(ValueError, match="This Scaled instance is not fitted yet"):
            is_fitted(Theirs())
        with pytest.raises(AttributeError, match="This Scaled instance is not fitted yet"):
            is_fitted(fitted, "other_")


def test_vectors_are_checked_as_scikit_learn_checks_them():
    for estimator, validate in ((Ours(), plain.validate_data), (Theirs(), validation.validate_data)):
        rows = validate(estimator, [[1, 2], [3, 4]], dtype=np.float64)
        assert (rows.dtype, estimator.n_features_in_) == (np.float64, 2)
        validate(estimator, rows, dtype=np.float64, reset=False)
        with pytest.raises(ValueError, match="X has 3 features, but Scaled is expecting 2 features as input"):
            validate(estimator, [[1.0, 2.0, 3.0]], dtype=np.float64, reset=False)
        for wrong in ([[np.nan, 1.0]], [[np.inf, 1.0]], [1.0, 2.0], np.empty((0, 2)), [["a", "b"]]):
            with pytest.raises(ValueError):
                validate(estimator, wrong, dtype=np.float64)
        with pytest.raises(ValueError):
            validate(estimator, [[1.0, 2.0]], dtype=np.float64, ensure_min_samples=2)


@pytest.mark.parametrize("seed", [0, 7, np.int64(3), np.random.RandomState(5)], ids=str)
def test_a_seed_gives_the_random_numbers_of_scikit_learn(seed):
    again = pickle.loads(pickle.dumps(seed))
    ours, theirs = plain.check_random_state(seed), sklearn.utils.check_random_state(again)
    assert ours.randint(2**31) == theirs.randint(2**31)
