"""Pages and tables: report.html of a run, release tables, and the server that shows run folders."""
