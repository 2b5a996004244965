"""MRR: Delta = 1 - 1/rank of the first relevant song, whose rank is ``placed[0] + 1``.

Putting the first relevant song behind b irrelevant ones forces all others to at least b; each then does best
at ``max(b, free place)``. The total is concave in b, so the search climbs from the free place of the first
relevant song and stops at the first step that does not pay.
"""

from numba import njit

from nearsong.metric.oracles.staircase import free_places


@njit(cache=True, nogil=True)
def place_for_mrr(relevant, n_relevant, irrelevant, n_irrelevant, placed):  # type: ignore[no-untyped-def]
    """Fill ``placed`` with the most violated staircase and return its loss."""
    free_places(relevant, n_relevant, irrelevant, n_irrelevant, placed)
    weight = 2.0 / (n_relevant * n_irrelevant)
    first = placed[0]
    pushed = 0  # relevant songs that the first one pushes along
    pushed_distance = 0.0
    while first < n_irrelevant:
        while pushed < n_relevant and placed[pushed] <= first:
            pushed_distance += relevant[pushed]
            pushed += 1
        step = weight * (pushed_distance - pushed * irrelevant[first])
        if step + 1.0 / (first + 1) - 1.0 / (first + 2) <= 0.0:
            break
        first += 1
    for i in range(n_relevant):
        if placed[i] < first:
            placed[i] = first
    return 1.0 - 1.0 / (first + 1)
