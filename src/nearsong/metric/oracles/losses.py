"""Ranking losses -> the numbers by which the compiled oracle knows them."""

AUC, MRR, NDCG, MAP, PRECISION = 0, 1, 2, 3, 4
LOSS_CODES = {"auc": AUC, "mrr": MRR, "ndcg": NDCG, "map": MAP, "precision_at_k": PRECISION}
