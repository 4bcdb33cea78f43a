"""`python -m ragviz` is the command line."""

from ragviz.cli import main

main()
