"""Reproduce tables of published figures: for each row the published figure, ours, and a verdict.

registry.py      tables and rows, from the TOML files in `tables/`
data.py          finds the dataset of a table
experiments.py   rows that are measured on a smaller task than the published one
trainings.py     the runs behind a row: trained once, resumed, shared by rows
results.py       the results file: results, costs and failures
shipped.py       the results that ship with elman
workshop.py      everything that measuring needs: tables, folder, machine
costs.py         the cost of a row: planned, computed or measured
verdicts.py      compares published and measured figures
status.py        every row with its result, verdict and cost
measuring.py     one row, from its recipe to a result
row.py           one row from Python: `elman.reproduce`
ranking.py       chooses the next row: most results per hour
claims.py        locks, so that two processes never work on the same row
deadline.py      when a queue must end
queue.py         measures rows one by one until the deadline
side_by_side.py  measures whether two trainings of one thread or one of two threads are faster
workers.py       several queues on one folder
report.py        the tables as part of a Markdown page
page.py          the tables as an HTML page with bars
"""
