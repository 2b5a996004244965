"""Vectors + relevant songs -> a metric: metric learning to rank as a scikit-learn estimator (paper II-B)."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from nearsong.errors import InvalidInputError, NoUsableQueryError
from nearsong.estimators import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ConvergenceWarning,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    validate_data,
)
from nearsong.metric.history import Round, Solution
from nearsong.metric.oracles.losses import LOSS_CODES
from nearsong.metric.queries import ItemLists, QuerySet
from nearsong.metric.solver import RankingSolver
from nearsong.metric.stochastic import BatchSettings, solve_in_batches
from nearsong.types import FloatArray
from nearsong.validation import (
    check_choice,
    check_count,
    check_in_range,
    check_labels,
    check_magnitude,
    check_positive,
    check_square_relation,
)

_DEFAULT_K = {"precision_at_k": 10}
_RANK_TOLERANCE = 1e-9  # of the largest eigenvalue
MAX_FULL_SONGS = 20_000
"""Songs up to which a fit uses all queries in every round by default."""

_DEFAULT_BATCH = 1_000


class MetricLearningToRank(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learn a Mahalanobis metric under which relevant songs rank before irrelevant ones.

    Metric learning to rank (McFee and Lanckriet, ICML 2010) solves::

        min over W >= 0 (PSD):  trace(W) + (C / n) * sum_q slack_q(W)
        slack_q(W) = max over rankings y:  Delta(y_q, y) - <W, psi(q, y_q) - psi(q, y)>

    where ``Delta`` is the ranking loss, ``y_q`` a correct ranking of query q and ``psi`` the partial-order feature
    (paper eq. 4). The problem is convex; the fit stops at a certified relative gap to its optimum.

    Parameters
    ----------
    loss : {"auc", "mrr", "ndcg", "map", "precision_at_k"}, default="auc"
        The ranking score to optimise; ``Delta`` is how much lower a ranking scores than a correct one.
    C : float, default=1.0
        Weight of the slack against the trace. Its useful range depends on the scale of X; when it is so small that
        W = 0 is optimal, a warning names the threshold.
    k : int or None, default=None
        Cut-off of ``ndcg`` and ``precision_at_k``. None is the whole list for ``ndcg`` and 10 for
        ``precision_at_k``.
    diagonal : bool, default=False
        Learn one weight per feature instead of a full matrix.
    tol : float, default=1e-3
        Certified relative gap to the optimum at which to stop. With batches: relative change of the mean objective.
    max_rounds : int, default=300
        Maximum number of calls of the separation oracle.
    batch_size : int or None, default=None
        Queries per round. None uses all of them up to 20,000 songs, and batches of 1,000 above.
    warm_start : bool, default=False
        Start from the metric of the previous fit.
    random_state : int, RandomState or None, default=None
        Seed of the batches; a full fit is deterministic.
    verbose : bool, default=False
        Print one line per round.
    callback : callable or None, default=None
        Called with a `Round` after every oracle call; if it returns a true value, the fit stops with the best metric
        so far.

    Attributes
    ----------
    components_ : ndarray of shape (rank, n_features)
        L with W = L'L, rows by decreasing eigenvalue. A zero metric has one row of zeros.
    history_ : list of Round
        Objective, lower bound, relative gap, slack, constraints and seconds of every round.
    n_rounds_ : int
        Number of oracle calls.
    converged_ : bool
        Whether the gap reached ``tol``.
    objective_, lower_bound_, gap_ : float
        The objective at W, a certified lower bound of the optimum, and their relative distance. Bound and gap are
        NaN with batches.
    n_skipped_queries_ : int
        Songs without a relevant or without an irrelevant song, which cannot be queries.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = MetricLearningToRank(C=10.0).fit(X, y)
    >>> learner.converged_, learner.gap_ <= 1e-3
    (True, True)
    >>> learner.transform(X[:2]).shape == (2, len(learner.components_))
    True
    """

    def __init__(
        self,
        loss: str = "auc",
        C: float = 1.0,
        *,
        k: int | None = None,
        diagonal: bool = False,
        tol: float = 1e-3,
        max_rounds: int = 300,
        batch_size: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
        callback: Callable[[Round], object] | None = None,
    ) -> None:
        self.loss = loss
        self.C = C
        self.k = k
        self.diagonal = diagonal
        self.tol = tol
        self.max_rounds = max_rounds
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: Any, ignored: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_songs, n_features)
            One vector per song.
        y : array-like of shape (n_songs,) or sparse matrix of shape (n_songs, n_songs)
            Class labels (songs of the same class are relevant), or relevance: entry (q, i) non-zero means song i is
            relevant for query q. The relation is directed; its diagonal is ignored.
        ignored : sparse matrix of shape (n_songs, n_songs) or None
            Pairs that are neither relevant nor irrelevant, such as songs by the same artist. Takes precedence over
            ``y``.

        Raises
        ------
        InvalidInputError
            If a parameter or a shape cannot work.
        NoUsableQueryError
            If no song has both a relevant and an irrelevant song.
        """
        self._check_parameters()
        X = check_magnitude(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), "X")
        queries = _query_set(X, y, ignored)
        self._warn_about_skipped(queries)
        (solution,) = self._solutions(X, queries, [self.C], self._start())
        return self._store(solution, queries)

    def fit_path(
        self, X: Any, y: Any, Cs: Sequence[float] | None = None, ignored: Any = None
    ) -> list["MetricLearningToRank"]:
        """Fit a copy for every C, which is cheaper than separate fits.

        Cutting planes and bounds do not depend on C, so all values share them: each fit starts from the metric of the
        next smaller C, and what bounds the optimum for the largest C often does for others. With batches (see
        ``batch_size``) only the start is shared, from the next larger C.

        Parameters
        ----------
        X, y, ignored
            As in `fit`.
        Cs : sequence of float, optional
            By default the grid of the paper: 10^-2, 10^-1, ..., 10^9.

        Returns
        -------
        list of MetricLearningToRank
            One fitted copy for each C, in ascending order.
        """
        self._check_parameters()
        given = 10.0 ** np.arange(-2, 10) if Cs is None else np.atleast_1d(np.asarray(Cs, dtype=object))
        values = sorted(check_positive(C, "C") for C in given)
        if not values:
            raise InvalidInputError("Cs is empty; give at least one value of C.")
        X = check_magnitude(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), "X")
        queries = _query_set(X, y, ignored)
        self._warn_about_skipped(queries)
        path = []
        for C, solution in zip(values, self._solutions(X, queries, values), strict=True):
            fitted = type(self)(**{**self.get_params(deep=False), "C": C})
            fitted.n_features_in_ = X.shape[1]
            if hasattr(self, "feature_names_in_"):
                fitted.feature_names_in_ = self.feature_names_in_
            path.append(fitted._store(solution, queries, quiet_zero=True))
        return path

    def _solutions(
        self, X: FloatArray, queries: QuerySet, Cs: Sequence[float], start: FloatArray | None = None
    ) -> list[Solution]:
        """Solve for each C of an ascending sequence; in batches if there are many songs."""
        batch = self._batch_size(len(X))
        if batch is None:
            with RankingSolver(X, queries, self.loss, self._cut(), self.diagonal) as solver:
                return solver.solve_path(Cs, self.tol, self.max_rounds, start, self._report)
        settings = BatchSettings(batch, self.tol, self.max_rounds)
        seed = check_random_state(self.random_state).randint(2**31)
        solutions = []
        for C in reversed(Cs):
            solution = solve_in_batches(
                X,
                queries,
                self.loss,
                self._cut(),
                self.diagonal,
                C,
                settings,
                np.random.default_rng(seed),  # the same batches for each C
                start,
                self._report,
            )
            start = solution.factor
            solutions.append(solution)
        return solutions[::-1]

    def transform(self, X: Any) -> FloatArray:
        """Project songs so that Euclidean distance is the learned one: ``X @ components_.T``.

        Parameters
        ----------
        X : array-like of shape (n_songs, n_features)

        Returns
        -------
        ndarray of shape (n_songs, rank)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        projected: FloatArray = X @ self.components_.T
        return projected

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return W = L'L, a symmetric positive semi-definite array of shape (n_features, n_features)."""
        check_is_fitted(self)
        matrix: FloatArray = self.components_.T @ self.components_
        return (matrix + matrix.T) / 2.0

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _check_parameters(self) -> None:
        check_choice(self.loss, "loss", LOSS_CODES)
        check_positive(self.C, "C")
        check_in_range(self.tol, "tol", 0.0, 1.0)
        check_count(self.max_rounds, "max_rounds", minimum=3)
        if self.k is not None:
            check_count(self.k, "k")
        if self.batch_size is not None:
            check_count(self.batch_size, "batch_size")

    def _cut(self) -> int | None:
        return _DEFAULT_K.get(self.loss) if self.k is None else self.k

    def _batch_size(self, n: int) -> int | None:
        if self.batch_size is None:
            return None if n <= MAX_FULL_SONGS else _DEFAULT_BATCH
        return None if self.batch_size >= n else self.batch_size

    def _start(self) -> FloatArray | None:
        """Return the factor of the previous fit with ``warm_start``, else None."""
        if not self.warm_start or not hasattr(self, "components_"):
            return None
        previous: FloatArray = self.components_
        if previous.shape[1] != self.n_features_in_:
            raise InvalidInputError(
                f"X has {self.n_features_in_} features, but the metric of the previous fit has {previous.shape[1]}; "
                "set warm_start=False or fit a clone."
            )
        return np.sqrt(np.einsum("ij,ij->j", previous, previous)) if self.diagonal else previous

    def _report(self, record: Round) -> object:
        if self.verbose:
            print(
                f"round {record.round:3d}  {record.phase:<11}  objective {record.objective:.6g}  "
                f"best {record.best:.6g}  gap {record.gap:.2%}"
            )
        return self.callback(record) if self.callback is not None else None

    def _warn_about_skipped(self, queries: QuerySet) -> None:
        self.n_skipped_queries_ = queries.n_skipped
        if queries.n_skipped:
            total = len(queries.relevant.start)
            warnings.warn(
                f"{queries.n_skipped} of {total} songs have no relevant or no irrelevant song and are skipped as "
                "queries; they are still ranked for other queries.",
                UserWarning,
                stacklevel=3,
            )

    def _store(self, solution: Solution, queries: QuerySet, quiet_zero: bool = False) -> Self:
        """Store the solution with rank-revealed components; warn if it did not converge or is zero."""
        self.components_ = _rank_revealed(solution.factor, self.diagonal)
        self.history_ = solution.history
        self.n_rounds_ = len(solution.history)
        self.converged_ = solution.converged
        self.objective_ = solution.objective
        self.lower_bound_ = solution.lower_bound
        self.gap_ = solution.gap
        self.n_skipped_queries_ = queries.n_skipped
        if not solution.converged:
            reached = (
                f"with a gap of {self.gap_:.2g}, above"
                if np.isfinite(self.gap_)
                else "while the mean objective of the batches still changed by more than"
            )
            warnings.warn(
                f"stopped after {self.n_rounds_} rounds {reached} tol={self.tol:g}; raise max_rounds or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not self.components_.any() and not quiet_zero:
            warnings.warn(_zero_message(self.C, solution.zero_up_to), UserWarning, stacklevel=3)
        return self


def _zero_message(C: float, zero_up_to: float) -> str:
    """Return why the optimal metric is zero and what to do."""
    if np.isinf(zero_up_to):
        return (
            "the learned metric is zero for every C: no direction of X has relevant songs nearer than irrelevant "
            "ones, or k is so large that every ranking scores the same. Check y, or lower k."
        )
    if zero_up_to < C:  # losses with a cut-off only: every non-zero metric may cost more than zero
        return (
            f"the learned metric is zero: C={C:g} or k is too small for this data. Try a larger k, another loss or a "
            "much larger C."
        )
    return f"the learned metric is zero: C={C:g} is too small for this data. Try a C well above {zero_up_to:.3g}."


def _query_set(X: FloatArray, y: Any, ignored: Any) -> QuerySet:
    """Turn labels or a relation into lists of relevant songs; refuse data without a usable query."""
    n = len(X)
    if y is None:
        raise InvalidInputError(
            "learning to rank requires y to be passed, but the target y is None; give class labels or a relevance "
            "matrix."
        )
    if not sp.issparse(y):
        y = np.asarray(y)
    if sp.issparse(y) or (y.ndim == 2 and y.shape[1] > 1):
        relevant = ItemLists.from_relation(check_square_relation(y, n, "relevance"))
    else:
        relevant = ItemLists.from_labels(check_labels(y, n, "y"))
    lists = (
        ItemLists.empty(n)
        if ignored is None
        else ItemLists.from_relation(check_square_relation(ignored, n, "ignored"))
    )
    queries = QuerySet.from_lists(relevant, lists)
    if len(queries.usable) == 0:
        raise NoUsableQueryError(
            f"none of the {n} songs has both a relevant and an irrelevant song; labels need at least two classes, "
            "one of them with two songs."
        )
    return queries


def _rank_revealed(factor: FloatArray, diagonal: bool) -> FloatArray:
    """Return L with orthogonal rows of decreasing norm, without rows that are numerically zero."""
    if diagonal:
        nonzero = np.flatnonzero(factor**2 > _RANK_TOLERANCE * float((factor**2).max()))
        order = nonzero[np.argsort(-factor[nonzero], kind="stable")]
        rows = np.zeros((len(order), len(factor)))
        rows[np.arange(len(order)), order] = factor[order]
    else:
        _, sizes, directions = np.linalg.svd(factor, full_matrices=False)
        keep = sizes**2 > _RANK_TOLERANCE * float(sizes.max(initial=0.0)) ** 2
        rows = sizes[keep, None] * directions[keep]
        # The sign of a singular vector is arbitrary: the largest entry is made positive.
        peaks = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)] if len(rows) else np.empty(0)
        rows = rows * np.sign(peaks)[:, None]
    return rows if len(rows) else np.zeros((1, factor.shape[-1]))
