"""`python -m elman` is the command line."""

from elman.cli import main

main()
