"""
The learner among scikit-learn's tools
======================================

`MetricLearningToRank` is a scikit-learn transformer: it takes class labels, scales in a pipeline, and C and
loss are chosen by cross-validation.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearsong import MetricLearningToRank, ranking_scorer

X, y = load_wine(return_X_y=True)
folds = StratifiedKFold(3)

# %%
# Choose C and loss
# -----------------
# `ranking_scorer` ranks the songs (here: wines) of a held-out fold for each of its members, and scores the rankings.

search = GridSearchCV(
    make_pipeline(StandardScaler(), MetricLearningToRank()),
    {
        "metriclearningtorank__C": [1.0, 10.0, 100.0],
        "metriclearningtorank__loss": ["auc", "map"],
    },
    scoring=ranking_scorer("map"),
    cv=folds,
).fit(X, y)
chosen = search.best_params_
print(f"best: C = {chosen['metriclearningtorank__C']:g}, loss = {chosen['metriclearningtorank__loss']}")
print(f"mean average precision on held-out folds: {search.best_score_:.3f}")

# %%
# Use the metric
# --------------
# The learned space is plain Euclidean, so every tool that takes vectors can use it: here the nearest-neighbour
# classifier.

pipelines = {
    "raw features": make_pipeline(KNeighborsClassifier(5)),
    "scaled": make_pipeline(StandardScaler(), KNeighborsClassifier(5)),
    "learned metric": make_pipeline(*[step for _, step in search.best_estimator_.steps], KNeighborsClassifier(5)),
}
accuracy = {name: cross_val_score(pipeline, X, y, cv=folds).mean() for name, pipeline in pipelines.items()}
for name, share in accuracy.items():
    print(f"{name:15} {share:.3f}")

figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
bars = ax.barh(list(accuracy), list(accuracy.values()), color=["#b8c0cc", "#b8c0cc", "#4757c7"])
ax.bar_label(bars, fmt="{:.3f}", padding=4)
ax.set(xlim=(0, 1.1), xlabel="accuracy of 5 nearest neighbours on held-out folds")
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
plt.show()
