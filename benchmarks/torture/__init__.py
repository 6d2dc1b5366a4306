"""The promises of docs/reliability.md; each file tests one of them many times.

A promise is a module with `ABOUT`, `TRIALS` and `attempt(trials, seed, place)`, which returns a
`Tally`. Faults come from outside the process: real signals, full disks, memory limits.
"""
