"""Finding lines in many files: patterns, the processes that match them, and what makes it fast on local disks."""
