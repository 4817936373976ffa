"""BIG-Bench Hard: made-up questions in the form of each of the 27 subtasks, two a subtask, none of the benchmark's."""

from datasets import Value

from samples import Sample

FEATURES = {"input": Value("string"), "target": Value("string")}
THREE = ("cup", "plate", "spoon")
FIVE = (*THREE, "fork", "bowl")
SEVEN = (*FIVE, "knife", "jug")


def _options(*texts: str) -> str:
    """The lettered options below a question."""
    return "\nOptions:\n" + "\n".join(f"({letter}) {text}" for letter, text in zip("ABCDEFG", texts, strict=False))


def _shelf(things: tuple[str, ...], place: int) -> tuple[str, str]:
    """Things in a row, each right of the one before; which is at a place from the left?"""
    rows = ". ".join(
        f"The {right} is just to the right of the {left}" for left, right in zip(things, things[1:], strict=False)
    )
    asked = [things[place], *(thing for thing in things if thing != things[place])]
    lines = _options(*(f"The {thing} is number {place + 1} from the left" for thing in sorted(asked)))
    return (
        f"On a shelf stand {len(things)} things. {rows}.{lines}",
        f"({'ABCDEFG'[sorted(asked).index(things[place])]})",
    )


def _swaps(things: tuple[str, ...], first: int) -> tuple[str, str]:
    """Persons with a thing each; the first one swaps with each of the next ones. What does he have at the end?"""
    persons = ("Ada", "Ben", "Cora", "Dirk", "Emma", "Finn", "Gina")[: len(things)]
    held = ", ".join(f"{person} has a {thing}" for person, thing in zip(persons, things, strict=True))
    asked = persons[first]
    text = f"{held}. Then {asked} and {persons[first + 1]} swap. At the end {asked} has the" + _options(*things)
    return text, f"({'ABCDEFG'[first + 1]})"


def _two(form: str, *filled: tuple[str, str]) -> list[tuple[str, str]]:
    """Questions of one form with its gap filled. filled: (text, answer)."""
    return [(form.format(text), answer) for text, answer in filled]


QUESTIONS: dict[str, list[tuple[str, str]]] = {
    "boolean_expressions": [("True and ( not False ) is", "True"), ("False or False is", "False")],
    "causal_judgement": _two(
        "How would a typical person answer this question on a cause?\nA lamp lights up if {} Tom presses the left button only. "
        "Does the lamp light up because of Tom?\nOptions:\n- Yes\n- No",
        ("any button is pressed.", "Yes"), ("both buttons are pressed.", "No"),
    ),
    "date_understanding": _two(
        "Today is the {} What is the date tomorrow in MM/DD/YYYY?" + _options("03/05/2031", "03/06/2031", "03/07/2031"),
        ("4th of March 2031.", "(A)"), ("6th of March 2031.", "(C)"),
    ),
    "disambiguation_qa": _two(
        "Say what the pronoun stands for, or that it is ambiguous.\nSentence: {}"
        + _options("The baker was tired", "The farmer was tired", "Ambiguous"),
        ("The baker told the farmer that he himself, the baker, was tired.", "(A)"),
        ("The baker met the farmer when he was tired.", "(C)"),
    ),
    "dyck_languages": _two("Complete the rest of the sequence. Input: {}", ("( < {", "} > )"), ("[ ( )", "]")),
    "formal_fallacies": _two(
        "\"Whoever owns a boat can swim. {}\"\nIs the argument deductively valid or invalid?\nOptions:\n- valid \n- invalid",
        ("Nora owns a boat. So Nora can swim.", "valid"), ("Nora can swim. So Nora owns a boat.", "invalid"),
    ),
    "geometric_shapes": _two(
        "This SVG path element <path d=\"{}\"/> draws a" + _options("line", "triangle", "rectangle"),
        ("M 1,1 L 5,1 L 3,4 L 1,1", "(B)"), ("M 1,1 L 5,1 L 5,4 L 1,4 L 1,1", "(C)"),
    ),
    "hyperbaton": _two(
        "Which sentence has the correct adjective order:{}",
        (_options("small red wooden box", "wooden red small box"), "(A)"),
        (_options("iron black big gate", "big black iron gate"), "(B)"),
    ),
    "logical_deduction_three_objects": [_shelf(THREE, 0), _shelf(THREE, 2)],
    "logical_deduction_five_objects": [_shelf(FIVE, 1), _shelf(FIVE, 3)],
    "logical_deduction_seven_objects": [_shelf(SEVEN, 2), _shelf(SEVEN, 6)],
    "movie_recommendation": _two(
        "Find a film similar to these made-up ones: {}" + _options("Robots of Mars", "A Kitchen in Lyon", "The Last Goal"),
        ("Star Station, Moon Dust, Planet Nine:", "(A)"), ("The Baker's Son, Soup, Two Cooks:", "(B)"),
    ),
    "multistep_arithmetic_two": [("((2 + 3) * (4 - 6)) =", "-10"), ("((-1 * 8) - (-5 + -9)) =", "6")],
    "navigate": _two(
        "If you follow these instructions, do you return to the start? {}\nOptions:\n- Yes\n- No",
        ("Take 4 steps. Turn around. Take 4 steps.", "Yes"), ("Take 4 steps. Turn left. Take 4 steps.", "No"),
    ),
    "object_counting": _two(
        "I have {} How many tools do I have?",
        ("two hammers, a saw and a pear.", "3"), ("a file, a chisel, nine pliers and a plum.", "11"),
    ),
    "penguins_in_a_table": _two(
        "Here is a table of penguins:  name, age, height (cm)\nPip, 3, 40\nMona, 6, 72\n{}" + _options("Pip", "Mona"),
        ("Which penguin is older?", "(B)"), ("Which penguin is smaller?", "(A)"),
    ),
    "reasoning_about_colored_objects": _two(
        "On the desk there are a green pen, a white cup and a black key. What color is the {}?"
        + _options("black", "green", "white"),
        ("pen", "(B)"), ("key", "(A)"),
    ),
    "ruin_names": _two(
        "Which of these is a humorous edit of a made-up film's name: {}",
        ("'the long road'?" + _options("the long toad", "the long roadd"), "(A)"),
        ("'night train'?" + _options("nighttrain", "night brain"), "(B)"),
    ),
    "salient_translation_error_detection": _two(
        "The translation has one error.\nSource: Drei Hunde schlafen in Bonn.\nTranslation: {}\nThe error is in"
        + _options("Numerical Values", "Named Entities", "Dropped Content"),
        ("Four dogs sleep in Bonn.", "(A)"), ("Three dogs sleep.", "(C)"),
    ),
    "snarks": _two(
        "Which statement is sarcastic?{}",
        (_options("Rain all week, how lovely for the picnic", "Sun all week, how lovely for the picnic"), "(A)"),
        (_options("The bus came in time, great service", "The bus came an hour late, great service"), "(B)"),
    ),
    "sports_understanding": _two(
        "Is the following sentence plausible? \"{}\"",
        ("The goalkeeper caught the ball.", "yes"), ("The swimmer was shown a yellow card for a slam dunk.", "no"),
    ),
    "temporal_sequences": _two(
        "Olga was at work from 8am to 12pm and at home from 3pm to 6pm. {}"
        + _options("8am to 12pm", "12pm to 3pm", "3pm to 6pm"),
        ("Between what times could she have been at the lake?", "(B)"), ("Between what times was she at home?", "(C)"),
    ),
    "tracking_shuffled_objects_three_objects": [_swaps(THREE, 0), _swaps(THREE, 1)],
    "tracking_shuffled_objects_five_objects": [_swaps(FIVE, 2), _swaps(FIVE, 3)],
    "tracking_shuffled_objects_seven_objects": [_swaps(SEVEN, 4), _swaps(SEVEN, 5)],
    "web_of_lies": _two(
        "Question: Ida tells the truth. {} Does Otto tell the truth?",
        ("Otto says Ida tells the truth.", "Yes"), ("Otto says Ida lies.", "No"),
    ),
    "word_sorting": _two(
        "Sort the following words alphabetically: List: {}",
        ("violet amber indigo", "amber indigo violet"), ("maple birch", "birch maple"),
    ),
}  # fmt: skip


def samples() -> list[Sample]:
    """Two questions a subtask."""
    return [
        Sample(
            "SaylorTwift/bbh", "test", FEATURES, [{"input": asked, "target": answer} for asked, answer in pairs], name
        )
        for name, pairs in QUESTIONS.items()
    ]
