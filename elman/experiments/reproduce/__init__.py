"""Reproduce tables of published figures: for each row the published figure, ours, and a verdict.

registry.py      tables and rows, from the TOML files in `tables/`
data.py          finds the text of a table, and checks that it is the published one
experiments.py   rows that are measured on a smaller task than the published one
trainings.py     the runs behind a row: trained once, resumed, shared by rows
results.py       the file of results, costs and failures
shipped.py       the results that come with elman
workshop.py      where rows are measured: tables, folder, machine
costs.py         the cost of a row on this machine: planned, computed or spent
verdicts.py      compares published and measured figures
status.py        every row with its result, verdict and cost
measuring.py     one row from its recipe to a result
ranking.py       chooses the next row: most results per hour
claims.py        locks, so that two processes never work on the same row
deadline.py      when a queue must end
queue.py         measures rows one by one until then
side_by_side.py  whether two trainings with one thread or one with two are faster here
workers.py       several queues on one folder
report.py        the tables as a part of a Markdown page
page.py          the tables as an HTML page, with bars
"""
