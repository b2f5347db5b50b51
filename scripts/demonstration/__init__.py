"""The demonstration behind ``scripts/demo``, a step a function."""
