"""WikiText: short articles of our own, with the headings, the blanks and the marks of the tokenized corpus."""

from datasets import Value

from samples import Sample

ARTICLES = (
    (
        "Lower Mill Bridge",
        'The Lower Mill Bridge is a stone bridge of 1 @,@ 204 tonnes over the Little Brook . It was built in 1871 by a local'
        ' builder , who called it " the quiet bridge " .',
        "Traffic",
        "About 3 @.@ 5 thousand carts ( and later cars ) crossed it in a year ; most of them carried flour .",
    ),
    (
        "Grey heron of Alder Lake",
        "The grey heron is a long @-@ legged bird . On Alder Lake it breeds in high trees ; the oldest nest is used since 1962 .",
        "Food",
        "It eats fish , frogs and mice . A heron 's meal takes less than a minute !",
    ),
    (
        "Winter Song",
        '" Winter Song " is a piece for two violins . The critics asked : is it a dance or a lament ?',
        "Reception",
        "One newspaper called it ' a cold delight ' . The players ' own recording [ from 1998 ] sold 2 @,@ 000 copies .",
    ),
    (
        "Storm of the fifth week",
        "The storm of the fifth week moved along the coast at 40 N and turned to the north @-@ east . It lasted 3 @.@ 2 days .",
        "Damage",
        "Two barns lost their roofs , but nobody was hurt . Temperatures fell to 4 ° C .",
    ),
    (
        "Hanna Brook",
        "Hanna Brook ( born 1901 ) was a teacher of geometry . She wrote twelve school books , of which three are still in use .",
        "Later life",
        "She moved to the island in 1950 . There she built a sundial with { Roman } numerals .",
    ),
    (
        "The Blue Lantern",
        "The Blue Lantern is a novel in four parts : arrival , work , doubt and return . It was read aloud on the radio .",
        "Plot",
        "A keeper finds a lantern that burns blue . He 's the only one who sees it .",
    ),
    (
        "Railway of the Seven Stops",
        "The railway had seven stops and one train . It carried milk @-@ cans in the morning and pupils at noon .",
        "Closure",
        "It was closed in 1969 ; the track is now a path of 11 @.@ 8 kilometres .",
    ),
    (
        "Copper beetle",
        "The copper beetle is 12 to 15 millimetres long . Its wings shine green , red and gold .",
        "Habitat",
        "It lives in dry meadows , up to 1 @,@ 500 metres above the sea .",
    ),
)  # fmt: skip


def page(title: str, text: str, heading: str, more: str) -> str:
    """An article as the corpus has it: every line begins and ends with a blank."""
    return f" \n = {title} = \n \n {text} \n \n = = {heading} = = \n \n {more} \n \n"


def samples() -> list[Sample]:
    """Eight articles."""
    rows = [{"page": page(*article)} for article in ARTICLES]
    return [Sample("EleutherAI/wikitext_document_level", "test", {"page": Value("string")}, rows, "wikitext-2-raw-v1")]
