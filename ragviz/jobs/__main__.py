"""The process of a job: `python -m ragviz.jobs ID`."""

from ragviz.jobs.worker import main

if __name__ == "__main__":
    main()
