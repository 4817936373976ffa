"""What there is to evaluate with, listed and searched: nothing of it is imported or executed."""
