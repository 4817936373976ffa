"""The examples by which a judge extracts an answer of TIR-Bench: our own, one for each form; the first line is the authors'."""

EXAMPLES = """\
Please read the following example. Then extract the answer from the model response and type it at the end of the prompt.

Question: Which color is closest to that of the square? A. red B. green C. blue

Model response: The square looks bluish, so the closest color is **C. blue**.

Extracted answer: C

Question: Which of the lines are parallel? Choose all.

Model response: Lines A and D never meet, so they are parallel.

Extracted answer: AD

Question: How many birds are in the image?

Model response: There are two birds on the roof and one in the tree, so there are 3 birds.

Extracted answer: 3

Question: What is the reading of the gauge? Give one decimal place.

Model response: The needle stands a little above 4, at about 4.2 bar.

Extracted answer: 4.2

Question: In which row and column is the letter Q?

Model response: Counting from the top left, it is in row 2, column 7.

Extracted answer: [2, 7]

Question: In what order should the numbered pieces be arranged?

Model response: The first row is 3, 1 and the second row is 4, 2.

Extracted answer: 3, 1, 4, 2"""
