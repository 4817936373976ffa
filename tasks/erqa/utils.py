"""ERQA: questions on what a robot sees.

Source: Gemini Robotics Team 2025, arXiv:2503.20020, and embodiedreasoning/ERQA.
"""

from collections.abc import Mapping
from typing import Any


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The pictures in their order."""
    return [image for image in doc["images"] if image is not None]
