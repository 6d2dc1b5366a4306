"""Tables of published figures, row by row: what was published, what is measured here, a verdict.

registry.py      tables and rows, from the TOML files in `tables/`
data.py          where the text of a table lies, and whether it is the one of the publication
workshop.py      where rows are measured: tables, folder, machine
trainings.py     the runs behind a row: trained once, resumed, shared by rows
costs.py         what a row costs here, planned or spent
measuring.py     one row from its recipe to a result
experiments.py   rows that are measured on a task of our own
results.py       the file in which results are kept
verdicts.py      published and measured, in a word
status.py      every row with what is known of it
budget.py        which rows fit into a given time
report.py        the tables as a part of a page
"""
