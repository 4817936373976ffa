"""Tests of `mm-eval fetch`."""
