"""Documents whose gold answer is probably wrong: models that are strong and unlike agree on another answer."""
