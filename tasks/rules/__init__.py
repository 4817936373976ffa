"""Rules that several benchmarks share: how their authors read an answer and compare it."""
