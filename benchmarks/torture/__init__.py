"""The promises of docs/reliability.md, each tried many times by a file of its own.

A promise is a module with `ABOUT`, `ALLOWED`, `TRIALS` and `attempt(trials, seed, place)`, which
gives a `Tally`. Faults come from outside the process: real signals, full disks, limits.
"""
