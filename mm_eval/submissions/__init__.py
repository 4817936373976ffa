"""Submission files: what a benchmark's server takes for splits whose answers are not published.

files        the records of a task and the forms of a file
submissions  collects the records while samples/ is written, and writes the files
"""
