"""Runs of the experiment as they lie in a folder, written by hand."""

import json

import numpy as np

HOSTILE = '<script>alert(\'boo\')</script> & "$x_2$" id="a"'
CODEBOOKS, TAUS, LOSSES, CS = (256, 512), (1, 4), ("auc", "ndcg"), (1.0, 100.0)


def scores(auc):
    return {"auc": auc, "mrr": auc / 2, "ndcg": auc / 3, "map": auc / 4, "precision_at_k": auc / 5, "n_queries": 9}


def pick(split, method, auc, *, codebook=None, tau=None, validation=None, unknown=None, learned=False, **more):
    return {
        "kind": "pick", "task": f"{split}-{method}-{codebook}-{tau}", "split": split, "method": method,
        "codebook": codebook, "tau": tau, "loss": "auc" if learned else None, "C": 100.0 if learned else None,
        "dimension": 20, "rank": 5 if learned else None,
        "validation": {"known": scores(auc if validation is None else validation)},
        "test": {"known": scores(auc), "unknown": None if unknown is None else scores(unknown)}, **more,
    }  # fmt: skip


def write_run(folder, rows, *, done=True, header=None, tail=""):
    """Write a run folder; every task is done by default."""
    folder.mkdir(parents=True, exist_ok=True)
    header = header or {"nearsong": "9.9", "dataset": {"name": "tiny"}, "settings": {"seed": 3}, "statistics": {}}
    (folder / "run.json").write_text(json.dumps(header))
    if done:
        rows = rows + [{"kind": "done", "task": task, "seconds": 1.0} for task in {row["task"] for row in rows}]
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + tail)
    return folder


def full_rows(rng, n_splits=3):
    rows = []
    for split in range(n_splits):
        part = {"artists": 40, "songs": 100 + split, "relevant": 9.5 + split, "relevant_std": 2.0, "queries": 99}
        parts = dict.fromkeys(("training", "validation", "test"), part)
        rows.append({"kind": "split", "task": f"split{split}", "split": split, "parts": parts})
        for codebook in CODEBOOKS:
            for tau in TAUS:
                for method, base in [("native", 0.65), ("tfidf", 0.6), ("mlr", 0.75), ("ppk_mlr", 0.8)]:
                    auc, unknown = (float(base + rng.normal(0, 0.01)) for _ in range(2))
                    learned = "mlr" in method
                    rows.append(
                        pick(split, method, auc, codebook=codebook, tau=tau, unknown=unknown, learned=learned,
                             dimension=codebook // 8 // tau + split)
                    )  # fmt: skip
                    for loss in LOSSES * learned:
                        rows += [
                            {"kind": "cell", "task": rows[-1]["task"], "split": split, "method": method,
                             "codebook": codebook, "tau": tau, "loss": loss, "C": C,
                             "validation": {"known": scores(auc - 0.01)}, "rounds": 7 + split, "gap": 1e-4,
                             "seconds": 0.5, "dimension": codebook // 8 // tau + split, "rank": 5}
                            for C in CS
                        ]  # fmt: skip
        for method, auc in [("random", 0.5), ("popularity", 0.6), ("shuffled", 0.62), ("tags_cosine", 0.83)]:
            auc = float(auc + rng.normal(0, 0.01))
            rows.append(pick(split, method, auc, unknown=auc - 0.01))
        for artists, auc in [(10, 0.6), (20, 0.7), (40, 0.79)]:
            rows.append(
                {"kind": "curve", "task": f"curve{split}", "split": split, "method": "ppk_mlr", "codebook": 256,
                 "tau": 1, "artists": artists, "songs": 2 * artists, "loss": "auc", "C": 1.0,
                 "test": {"known": scores(auc + split / 100), "unknown": scores(auc - 0.05)}}
            )  # fmt: skip
    return rows


def showcase_arrays(rng, n=60, n_queries=12):
    kinds = np.arange(n) % 3
    learned = np.eye(3)[kinds] * 3 + rng.standard_normal((n, 3))
    is_test = np.arange(n) >= n - n_queries
    queries = np.flatnonzero(is_test)
    titles = np.array([f"Song {i}" for i in range(n)], dtype="U80")
    titles[:: n // 6] = HOSTILE
    titles[1] = "\u97f3\u697d \u0000\u202e"
    return {
        "song_id": np.arange(n).astype(str), "title": titles,
        "artist": np.array([f"<i>Artist</i> {i // 2}" for i in range(n)]),
        "genre": np.array(["Rock & <b>Roll</b>", "Jazz", "Metal"])[kinds], "is_test": is_test,
        "native": np.hstack([learned, 4 * rng.standard_normal((n, 4))]), "learned": learned, "queries": queries,
        "relevant": (kinds[queries, None] == kinds) & ~is_test & (rng.random((n_queries, n)) < 0.6),
    }  # fmt: skip
