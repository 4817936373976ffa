"""What not every run needs: parts of a run, called by prepare.py and run.py, and the verbs. tests/test_house.py has the order."""
