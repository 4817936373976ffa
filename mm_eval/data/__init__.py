"""Documents and pictures: where data sets are, how their rows are read, and the identity of what is shown."""
