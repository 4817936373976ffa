"""What went wrong in a run, with counts, examples, causes and commands."""
