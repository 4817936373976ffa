"""What everything else is made of: the values of a run, errors with their owner, files, names; the standard library only."""
