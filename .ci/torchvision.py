"""Lets PyPI's torchvision be imported beside a CPU build of torch, for which it has no operators. Usage: torchvision.py FOLDER

FOLDER: where torchvision is installed. Two operators are declared, not defined: nothing here calls them.
"""

import sys
from pathlib import Path

extension = Path(sys.argv[1]) / "torchvision" / "extension.py"
lines = (
    "\nif not _has_ops():\n"
    '    _library = torch.library.Library("torchvision", "FRAGMENT")\n'
    '    for _operator in ("nms", "qnms"):\n'
    '        _library.define(_operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")\n'
)
if "_library.define" not in extension.read_text():
    extension.write_text(extension.read_text() + lines)
