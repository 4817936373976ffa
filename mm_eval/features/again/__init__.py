"""A command that is given once more when its run is finished: what was printed is printed again, and nothing is scored."""
