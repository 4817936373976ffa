"""ChartQAPro: drawn charts with questions of the five types."""

from datasets import List, Value

from samples import Row, Sample, page, png

TEXT = Value("string")
FEATURES = {
    "Question": List(TEXT), "Answer": List(TEXT), "Question Type": TEXT, "image": Value("binary"), "Year": List(TEXT),
    "Paragraph": TEXT,
}  # fmt: skip
TRAINS = "Trains on time\n2018 Lima 81%\n2019 Oslo 92%\n2020 Kyoto 98%"
LOAVES = "Loaves sold\nrye 12.5K\nspelt 9.4K\nwheat 15K"
TALK = ["How many loaves of rye were sold?", "And of wheat?", "What is the difference?"]
QUESTIONS = [  # chart, questions, answers, type, year flags, paragraph
    (TRAINS, ["Which city is the best?"], ["Kyoto"], "Factoid", ["NO"], ""),
    (TRAINS, ["In which year was the share the lowest?"], ["2018"], "Factoid", ["YES"], ""),
    (TRAINS, ["Which two cities are above 90%?"], ["[Oslo, Kyoto]"], "Factoid", ["NO"], ""),
    (TRAINS, ["Which years are above 90%?"], ["['2019', '2020']"], "Factoid", ["YES", "YES"], ""),
    (TRAINS, ["Which city has the most snow?"], ["unanswerable"], "Factoid", ["NO"], ""),
    (TRAINS, ["Which city is second? a) Lima b) Oslo c) Kyoto d) Rome"], ["b"], "Multi Choice", ["NO"], ""),
    (TRAINS, ["Oslo was better than Lima."], ["True"], "Fact Checking", ["NO"], "Oslo has winters with much snow."),
    (LOAVES, ["If rye sold twice as many, how many would that be?"], ["25K"], "Hypothetical", ["NO"], ""),
    (LOAVES, TALK[:2], ["12.5K", "15K"], "Conversational", ["NO", "NO"], ""),
    (LOAVES, TALK, ["12.5K", "15K", "2.5"], "Conversational", ["NO", "NO", "NO"], ""),
]


def samples() -> list[Sample]:
    """The test split."""
    rows: list[Row] = [
        {"Question": asked, "Answer": answers, "Question Type": kind, "image": png(page(chart))["bytes"], "Year": years,
         "Paragraph": paragraph}
        for chart, asked, answers, kind, years, paragraph in QUESTIONS
    ]  # fmt: skip
    return [Sample("ahmed-masry/ChartQAPro", "test", FEATURES, rows)]
