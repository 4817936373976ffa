"""The adapter's interface, the order of requests, the journal, the run folder."""
