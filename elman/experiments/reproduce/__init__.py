"""Tables of published figures, row by row: what was published, what is measured here, a verdict.

registry.py      tables and rows, from the TOML files in `tables/`
data.py          where the text of a table lies, and whether it is the one of the publication
experiments.py   rows that are measured on a task of our own
trainings.py     the runs behind a row: trained once, resumed, shared by rows
results.py       the file in which results, costs and failures are kept
shipped.py       the results that come with elman
workshop.py      where rows are measured: tables, folder, machine
costs.py         what a row costs here, planned, computed or spent
verdicts.py      published and measured, in a word
status.py        every row with what is known of it
measuring.py     one row from its recipe to a result
ranking.py       which row comes next: results per hour
claims.py        what a process works on is left alone by others
deadline.py      when a queue has to end
queue.py         rows worked off one by one until then
side_by_side.py  two trainings of one thread or one of two: which is quicker here
workers.py       several queues on one folder
report.py        the tables as a part of a Markdown page
page.py          the tables as an HTML page, with bars
"""
