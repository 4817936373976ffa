"""A release: several models on several tasks from one file. Read the file, run the models in turn or side by side, collect."""
