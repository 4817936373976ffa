"""What not every run needs: the parts of a run, and the verbs. `tests/test_house.py` has the layer of each; parts.py begins the parts."""
