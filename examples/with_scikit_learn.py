"""The learner among scikit-learn's tools: scaling in a pipeline, C and loss chosen by cross-validated ranking."""

from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearsong import MetricLearningToRank, ranking_scorer


def main() -> None:
    X, y = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MetricLearningToRank()),
        {
            "metriclearningtorank__C": [1.0, 10.0, 100.0],
            "metriclearningtorank__loss": ["auc", "map"],
        },
        scoring=ranking_scorer("map"),
        cv=StratifiedKFold(3),
    ).fit(X, y)
    chosen = search.best_params_
    print(f"best: C = {chosen['metriclearningtorank__C']:g}, loss = {chosen['metriclearningtorank__loss']}")
    print(f"mean average precision on held-out folds: {search.best_score_:.3f}")


if __name__ == "__main__":
    main()
