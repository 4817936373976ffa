"""A model behind a protocol of its own: it answers from the average colour of the picture.

python examples/model.py --tasks colours --include_path examples/tasks --model average_colour
"""

import sys

from mm_eval.cli import main
from mm_eval.engine.model import Model, register_model
from mm_eval.values.types import Answer


@register_model("average_colour")
class AverageColour(Model):
    """Names the strongest channel of the first picture."""

    def generate(self, instances):
        for instance in instances:
            [picture, *_] = instance.images()
            channels = picture.resize((1, 1)).getpixel((0, 0))
            yield instance, Answer(("red", "green", "blue")[channels.index(max(channels))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
