"""Every drawing with matplotlib, and the HTML pages that draw themselves.

Take results, write files or give HTML. Called by tasks, experiments and commands.
"""
