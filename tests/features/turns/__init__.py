"""Conversations."""
