"""Whether two sides are one model: another endpoint, build, engine or template against the weights that one has."""
