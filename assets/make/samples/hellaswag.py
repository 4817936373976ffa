"""HellaSwag: half captions of videos, half steps of instructions with the marks of their source."""

from datasets import List, Value

from samples import Row, Sample, rng

TEXT = Value("string")
FEATURES = {
    "ind": Value("int32"),
    "activity_label": TEXT,
    "ctx_a": TEXT,
    "ctx_b": TEXT,
    "ctx": TEXT,
    "endings": List(TEXT),
    "source_id": TEXT,
    "split": TEXT,
    "split_type": TEXT,
    "label": TEXT,
}
VIDEO, STEPS = "activitynet", "wikihow"
HEAD, STEP = "[header]", "[substeps]"
QUESTIONS = (  # source, topic, context, beginning of the last sentence, right ending, three wrong ones
    (
        VIDEO, "Washing dishes", "A man stands at a sink and fills it with warm water.", "he",
        "puts the plates in and rubs them with a sponge.", "throws the plates out of the window one by one.",
        "paints the sink in a bright red and lets it dry.", "rides away on a bicycle with the tap in his hand.",
    ),
    (
        VIDEO, "Playing chess", "Two girls sit at a table with a board between them.", "one girl",
        "moves a pawn and waits for the other.", "eats the board with a fork.",
        "swims to the other side of the lake.", "plugs the board in and starts to iron.",
    ),
    (
        VIDEO, "Planting a tree", "A woman digs a hole in the garden and sets a young tree into it.", "she",
        "fills the hole with soil and waters the tree.", "climbs to the top of the tree and picks its apples.",
        "cuts the tree into boards and builds a shelf.", "puts the shovel into the oven for an hour.",
    ),
    (
        VIDEO, "Skiing", "A skier stands at the top of a slope and looks down.", "he",
        "pushes off and glides down in wide turns.", "unpacks a picnic under water.",
        "sews a button on the slope.", "orders the snow to be delivered to his home.",
    ),
    (
        VIDEO, "Baking bread", "A boy kneads dough on a wooden table. The dough becomes smooth.", "",
        "He lays it into a bowl and covers it with a cloth.", "He drives a nail through it and hangs it on a wall.",
        "He kicks it into the goal and cheers.", "He reads it from the first page to the last.",
    ),
    (
        VIDEO, "Changing a tyre", "A woman lifts a car with a jack and loosens the bolts.", "then she",
        "takes the wheel off and puts the spare one on.", "pours milk over the roof.",
        "sings to the bolts until they sleep.", "lets the wheel swim in the bath.",
    ),
    (
        STEPS, "How to clean a window", f"{HEAD} Clean a window without streaks. [title] Mix the water. {STEP} Take a "
        "bucket of warm water and a drop of soap.", "",
        "Too much soap leaves streaks on the glass. [title] Wipe the glass from top to bottom.",
        "Drink the bucket before it gets cold. [title] Close your eyes and count the panes.",
        "Break the glass and glue it again. [title] Sell the frame.",
        "Add a spoon of honey for every pane. [title] Call the bees.",
    ),
    (
        STEPS, "How to save money", f"{HEAD} Save a part of your income. [title] Write down what you spend. {STEP} Keep "
        "each receipt for a month.", "",
        "At the end of the month you see where your money goes. [title] Set a limit for each kind of expense.",
        "Then eat the receipts with a little salt. [title] Wait for rain.",
        "Receipts are best kept under water. [title] Buy a second boat.",
        "Nobody has ever seen a month from the side. [title] Turn it round.",
    ),
    (
        STEPS, "How to sleep better", f"{HEAD} Prepare the evening. [title] Turn the screens off. {STEP} Bright light "
        "keeps you awake.", "",
        "Read a book or take a warm bath instead. [title] Go to bed at the same time every day.",
        "Stare at the sun for a while. [title] Run up the stairs until morning.",
        "Paint the screens yellow. [title] Feed them at midnight.",
        "Hang the bed from the ceiling fan. [title] Switch the fan on.",
    ),
    (
        STEPS, "How to boil an egg", f"{HEAD} Boil an egg. [title] Heat the water. {STEP} Put the egg carefully into the "
        "boiling water with a spoon.", "",
        "Wait seven minutes for a firm egg. [title] Cool it under cold water.",
        "Wait seven years for a firm egg. [title] Introduce it to your family.",
        "The spoon is now married to the egg. [title] Ring the bells.",
        "Throw the pot over your shoulder. [title] Never look back.",
    ),
    (
        STEPS, "How to write a letter", f"{HEAD} Write to a friend. [title] Begin with a greeting. {STEP} Write the name "
        "of your friend at the top.", "",
        "Then ask how your friend is. [title] Tell what you did this week.",
        "Then tear the letter into long strips. [title] Knit a scarf of them.",
        "The name must not contain any letters. [title] Whisper into the envelope.",
        "Plant the pen in a pot. [title] Water it weekly.",
    ),
    (
        STEPS, "How to pack a suitcase", f"{HEAD} Pack for a week. [title] Roll your clothes. {STEP} Rolled clothes need "
        "less room.", "",
        "They also get fewer creases. [title] Put heavy things at the bottom.",
        "Boil them before you roll them. [title] Serve with rice.",
        "Roll yourself first to set an example. [title] Lie in the suitcase.",
        "Clothes roll best down a hill. [title] Follow them quickly.",
    ),
)  # fmt: skip


def row(number: int, split: str, labelled: bool = True) -> Row:
    """A question; its number on the hub is that of a caption or article."""
    source, topic, context, beginning, *options = QUESTIONS[number]
    order = [0, 1, 2, 3]
    rng("hellaswag", number).shuffle(order)
    return {
        "ind": number,
        "activity_label": topic,
        "ctx_a": context,
        "ctx_b": beginning,
        "ctx": f"{context} {beginning}".strip(),
        "endings": [options[place] for place in order],
        "source_id": f"{source}~mm-eval-{number:02d}",
        "split": {"validation": "val"}.get(split, split),
        "split_type": "zeroshot" if number % 2 else "indomain",
        "label": str(order.index(0)) if labelled else "",
    }


def samples() -> list[Sample]:
    """Nine questions to score, and three for examples."""
    train = Sample("Rowan/hellaswag", "train", FEATURES, [row(number, "train") for number in (1, 5, 10)])
    scored = [number for number in range(len(QUESTIONS)) if number not in (1, 5, 10)]
    return [train, Sample("Rowan/hellaswag", "validation", FEATURES, [row(n, "validation") for n in scored])]
