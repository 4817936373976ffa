"""Whether the numbers that were published of a run are those of the run."""
