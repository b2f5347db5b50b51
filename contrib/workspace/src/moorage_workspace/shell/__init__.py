"""A terminal in which a person plays the agent: the only part that draws."""
