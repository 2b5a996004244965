"""MRR: Delta = 1 - 1/rank of the first relevant song, whose rank is ``insertion[0] + 1``.

Inserting the first relevant song after b irrelevant ones forces all others to at least b; each is then best inserted
at ``max(b, free insertion point)``. The total is concave in b, so the search climbs from the free insertion point of
the first relevant song and stops at the first step without a gain.
"""

from numba import njit

from nearsong.metric.oracles.staircase import free_insertion_points


@njit(cache=True, nogil=True)
def mrr_insertion_points(relevant, n_relevant, irrelevant, n_irrelevant, insertion):  # type: ignore[no-untyped-def]
    """Fill ``insertion`` with the most violated staircase and return its loss."""
    free_insertion_points(relevant, n_relevant, irrelevant, n_irrelevant, insertion)
    weight = 2.0 / (n_relevant * n_irrelevant)
    first = insertion[0]
    pushed = 0  # relevant songs that must move along with the first one
    pushed_distance = 0.0
    while first < n_irrelevant:
        while pushed < n_relevant and insertion[pushed] <= first:
            pushed_distance += relevant[pushed]
            pushed += 1
        step = weight * (pushed_distance - pushed * irrelevant[first])
        if step + 1.0 / (first + 1) - 1.0 / (first + 2) <= 0.0:
            break
        first += 1
    for i in range(n_relevant):
        if insertion[i] < first:
            insertion[i] = first
    return 1.0 - 1.0 / (first + 1)
