"""Flickr30k: drawn scenes with the sentences of five people."""

from datasets import Image, List, Value

from samples import Sample, png
from samples._captions import captions, pictures

TEXT = Value("string")
FEATURES = {"image": Image(), "caption": List(TEXT), "sentids": List(TEXT), "img_id": TEXT, "filename": TEXT}


def samples() -> list[Sample]:
    """Six pictures."""
    rows = [
        {
            "image": png(scene.image),
            "caption": captions(scene, 5, "flickr30k", place),
            "sentids": [str(5 * place + person) for person in range(5)],
            "img_id": str(place),
            "filename": f"{1000000 + place}.jpg",
        }
        for place, scene in enumerate(pictures("flickr30k", count=6))
    ]
    return [Sample("lmms-lab/flickr30k", "test", FEATURES, rows)]
