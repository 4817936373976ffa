"""What not every run needs: the parts of a run, which parts.py begins, and the verbs. tests/test_house.py orders them."""
