"""Hand-written answers that follow all instructions of the sample's prompts."""

from collections.abc import Mapping
from typing import Any

ANSWERS = {
    1: "rain falls on the quiet roofs of the town. it washes the streets and fills the old wooden barrels.",
    2: "<<THE SEA>>\n\nTHE SEA IS WIDE AND THE WAVES ARE HIGH\nAND ALL OF THE BIRDS ARE IN THE SKY",
    3: '```json\n{"bicycle": {"parts": ["wheel", "brake", "saddle"]}}\n```',
    4: "* a bottle of water\n* a filter for water from the river\n* warm socks",
    5: "A library is a quiet house that lends stories and knowledge to everyone for free.",
    6: "Party at our building on [day] at [hour]. Bring a cup. All of us sing.",
    7: "Bienen sammeln Nektar und bestäuben dabei die Blüten. So helfen sie den Obstbäumen im Garten. Das ist alles.",
    8: "*Wood* is warm.\n***\n*Stone* is heavy.\n***\nGlass is clear.",
    9: "Trains are fast.\n\nHowever, they are sometimes late.\n\nMost people like them anyway.",
    10: '"Dear Ms. Green, the parcel has arrived. Thank you!"',
    11: "Call it Lantern.\n******\nCall it Harbour Light.",
    12: "Write a note to my neighbour about the hedge.\n\nDear neighbour, the hedge is high.\n\nP.S. I can cut it.",
    13: "Section 1\nWATER the beans. It helps.\n\nSection 2\nNEVER pick them wet. ALWAYS wait. Then eat.",
    14: "My answer is maybe.",
    15: "The shop is closed today.\n\nP.P.S. It opens on Friday.",
}


def passing_answer(doc: Mapping[str, Any]) -> str | None:
    """The answer to a prompt of the sample; None for the benchmark's own prompts, which have no known answer."""
    return ANSWERS.get(doc["key"])
