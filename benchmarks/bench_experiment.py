"""The cost of the paper's grid: one configuration at the paper's size, and the projected cost of the full grid.

One configuration is what a task of the experiment does: a split, a codebook and a tau, with every loss and every C,
each metric scored on the validation queries. One thread, as in a run. The grid is 16 configurations x 2
representations x 10 splits. Prints where the time goes: the fits of each loss, and scoring.
"""

import argparse
import json
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from nearsong.executor import available_processors
from nearsong.experiment.run.learning import learn_grid
from nearsong.experiment.run.settings import Settings
from nearsong.model.held_out import Ranking
from nearsong.model.selection import PCAVectors
from planted import planted_problem

GRID = 16 * 2 * 10
PROFILES = {
    "smoke": {"artists": 60, "d": 12, "Cs": (1.0, 1e3), "losses": ("auc",)},
    "full": {"artists": 1410, "d": 253, "Cs": Settings().Cs, "losses": Settings().losses},
}


def split_in_two(artists: int, d: int) -> tuple[PCAVectors, Ranking, Ranking]:
    """Return songs, four sevenths of them for training, the others as validation queries."""
    problem = planted_problem(n_artists=artists, d=d)
    order = np.arange(len(problem.X))
    n_training = round(len(order) * 4 / 7)
    training, validation = order[:n_training], order[n_training:]
    relevant, ignored = problem.relevant.tocsr(), problem.ignored.tocsr()

    def ranking(queries: np.ndarray, database: np.ndarray) -> Ranking:
        return Ranking(queries, database, *(m[queries][:, database].astype(bool) for m in (relevant, ignored)))

    return PCAVectors(problem.X, d), ranking(training, training), ranking(validation, training)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=PROFILES, default="smoke")
    profile = PROFILES[parser.parse_args().profile]
    songs, training, validation = split_in_two(profile["artists"], profile["d"])
    settings = Settings(Cs=profile["Cs"], losses=profile["losses"])
    cores = available_processors()
    total = 0.0
    with threadpool_limits(limits=1):
        for loss in settings.losses:
            start = perf_counter()
            grid = learn_grid(songs, training, validation, [loss], settings)
            seconds = perf_counter() - start
            total += seconds
            fits = sum(cell.row["seconds"] for cell in grid)
            line = {
                "case": f"configuration_{loss}",
                "training_songs": len(training.queries),
                "dimension": songs.dimension,
                "values_of_C": len(grid),
                "seconds": seconds,
                "seconds_fitting": fits,
                "seconds_scoring_and_else": seconds - fits,
                "rounds": [cell.row["rounds"] for cell in grid],
                "gaps": [cell.row["gap"] for cell in grid],
                "validation_auc": [round(cell.auc, 3) for cell in grid],
            }
            print(json.dumps(line), flush=True)
    print(
        json.dumps(
            {
                "case": "projected_grid",
                "seconds_a_configuration": total,
                "configurations": GRID,
                "cores": cores,
                "hours": total * GRID / cores / 3600,
                "allowed_hours": 24,
            }
        )
    )


if __name__ == "__main__":
    main()
