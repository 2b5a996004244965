import numpy as np
import pytest
from sklearn.decomposition import PCA

from nearsong.errors import InvalidInputError
from nearsong.reduction.principal_components import PrincipalComponents


@pytest.mark.parametrize("shape", [(60, 8), (8, 60), (2, 3), (5, 1)])
@pytest.mark.parametrize("n_components", [1, 0.5, 0.95, 0.999999])
def test_components_are_those_of_scikit_learn_to_the_bit(shape, n_components):
    random = np.random.default_rng(3)
    vectors = random.normal(size=shape) * np.geomspace(1, 100, shape[1]) + 7
    theirs = PCA(n_components, svd_solver="full").fit(vectors)
    ours = PrincipalComponents.fit(vectors, n_components)
    np.testing.assert_array_equal(ours.mean, theirs.mean_)
    np.testing.assert_array_equal(ours.components, theirs.components_)
    np.testing.assert_array_equal(ours.variance_shares, theirs.explained_variance_ratio_)
    np.testing.assert_array_equal(ours.transform(vectors), theirs.transform(vectors))


def test_the_sign_of_a_component_does_not_depend_on_the_order_of_vectors():
    vectors = np.random.default_rng(0).normal(size=(40, 6))
    forward, backward = (PrincipalComponents.fit(rows, 6).components for rows in (vectors, vectors[::-1]))
    np.testing.assert_allclose(forward, backward, atol=1e-10)
    assert (forward[np.arange(6), np.abs(forward).argmax(axis=1)] > 0).all()


@pytest.mark.parametrize("n_components", [0, 4])
def test_a_number_of_components_that_vectors_do_not_have_is_refused(n_components):
    with pytest.raises(InvalidInputError, match=rf"n_components={n_components} must be from 1 to 3"):
        PrincipalComponents.fit(np.eye(5, 3), n_components)
