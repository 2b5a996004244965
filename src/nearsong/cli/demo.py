"""``nearsong demo``: learn a metric on data that is already on this machine, and show what it changed."""

import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from nearsong.errors import InvalidInputError

if TYPE_CHECKING:
    from nearsong.evaluation import RankingScores
    from nearsong.metric import MetricLearningToRank, Round

# name -> (loader in sklearn.datasets, a C that suits its scale)
_DATA_SETS = {
    "wine": ("load_wine", 1e2),
    "digits": ("load_digits", 1e1),
    "iris": ("load_iris", 1e2),
    "cancer": ("load_breast_cancer", 1e2),
}
_MEASURES = {"auc": "AUC", "map": "MAP", "mrr": "MRR", "ndcg": "NDCG@10", "precision_at_k": "precision@10"}


def demo(
    data: Annotated[str, typer.Option(help=f"One of {', '.join(_DATA_SETS)}; all ship with scikit-learn.")] = "wine",
    loss: Annotated[str, typer.Option(help="auc, mrr, ndcg, map or precision_at_k.")] = "auc",
    c: Annotated[float | None, typer.Option("--C", help="Weight of the ranking loss against the trace.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses which half is held out.")] = 0,
) -> None:
    """Learn a metric on half of a labelled data set and rank it for the other half.

    Example: nearsong demo --data digits --loss ndcg
    """
    # Heavy imports wait until here, so that `nearsong --help` answers at once.
    from scipy.sparse import csr_array
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    from nearsong.evaluation import ranking_scores
    from nearsong.metric import MetricLearningToRank

    console = Console(highlight=False)
    if data not in _DATA_SETS:
        raise InvalidInputError(f"--data {data!r} is unknown; choose one of {', '.join(_DATA_SETS)}.")
    loader, default_c = _DATA_SETS[data]
    X, y = getattr(datasets, loader)(return_X_y=True)
    known, unseen, known_y, unseen_y = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    console.print(
        f"[bold]{data}[/]: {len(known)} items to learn from, {len(unseen)} held-out queries, {X.shape[1]} features.\n"
        "An item is relevant for a query when both have the same label."
    )
    started = time.perf_counter()
    learner = _fit(MetricLearningToRank(loss, C=default_c if c is None else c), known, known_y, console)
    seconds = time.perf_counter() - started
    relevant = csr_array(unseen_y[:, None] == known_y[None, :])
    before = ranking_scores(unseen, known, relevant)
    after = ranking_scores(learner.transform(unseen), learner.transform(known), relevant)
    console.print(_table(before, after))
    rank, d = learner.components_.shape
    compiled = ", mostly compiling, this once" if learner.history_[0].oracle_seconds > 1.0 else ""
    console.print(
        f"Learned in {learner.n_rounds_} rounds ({seconds:.1f} s{compiled}): {learner.gap_:.2%} from the optimum at "
        f"most, rank {rank} of {d}.",
        soft_wrap=True,
    )


def _fit(learner: "MetricLearningToRank", X: Any, y: Any, console: Console) -> "MetricLearningToRank":
    """Fit with a progress line: the gap falls by decades from 100 % to ``tol``."""
    columns = (SpinnerColumn(), TextColumn("learning"), BarColumn(), TextColumn("{task.fields[note]}"))
    quiet = not console.is_terminal
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=quiet) as progress:
        decades = -math.log10(learner.tol)
        task = progress.add_task("learning", total=decades, note="compiling, on the first run only")

        def show(record: "Round") -> None:
            note = f"round {record.round}, objective {record.best:.4g}, gap {record.gap:.2%}"
            done = min(decades, -math.log10(max(record.gap, learner.tol)))
            progress.update(task, completed=done, note=note)

        learner.set_params(callback=show)
        return learner.fit(X, y)


def _table(before: "RankingScores", after: "RankingScores") -> Table:
    """Put the scores side by side."""
    table = Table(title="Ranking scores on held-out queries (1 = perfect)", title_justify="left")
    for header in ("measure", "native distance", "learned metric", "change"):
        table.add_column(header, justify="left" if header == "measure" else "right")
    for name, title in _MEASURES.items():
        old, new = getattr(before, name), getattr(after, name)
        table.add_row(title, f"{old:.3f}", f"[bold]{new:.3f}[/]", f"{new - old:+.3f}")
    return table
