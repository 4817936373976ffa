"""Task code of lmms-eval and lm-eval, and what would change the whole process, in a process of its own."""
