"""Studies made of trainings and questions: the tour, published tables, ablations, variants.

Each file trains, asks and tabulates; drawings are in `figures/`. Called by the commands.
"""
