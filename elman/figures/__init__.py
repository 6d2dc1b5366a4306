"""Plots with matplotlib, and HTML pages with interactive drawings.

They take results and write files or return HTML. Called by tasks, experiments and commands.
"""
