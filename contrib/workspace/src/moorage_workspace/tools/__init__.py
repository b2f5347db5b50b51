"""The tools that a model gets, one a file, and the pipeline that every call takes."""
