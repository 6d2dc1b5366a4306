"""Studies: the tour, published tables, ablations, comparisons of variants.

Each file trains, measures and tabulates; plots are in `figures/`. Called by the commands.
"""
