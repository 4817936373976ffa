"""The numbers of a run in a tracker: Weights & Biases, MLflow, Trackio.

tracking  checks the arguments before the first request, and sends after the last file is written
tracked   what is sent, the same for every tracker
process   runs a tracker's library in a process of its own, so that none of its state is in ours
on_NAME   the tracker of that name, with `check(args)` and `send(tracked, args)`
"""
