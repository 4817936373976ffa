"""Sound: the clips that questions let a model hear, sample by sample."""
