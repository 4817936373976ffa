"""MATH-500's schema: problems with a worked solution, the answer in LaTeX, a subject, a level and an id."""

from datasets import Value

from samples import Row, Sample

HUB_ID = "HuggingFaceH4/MATH-500"
FEATURES = {
    "problem": Value("string"),
    "solution": Value("string"),
    "answer": Value("string"),
    "subject": Value("string"),
    "level": Value("int64"),
    "unique_id": Value("string"),
}


def _rows() -> list[Row]:
    made = [
        ("Simplify $\\sqrt{72}$.", "$72 = 36 \\cdot 2$, so it is $\\boxed{6\\sqrt{2}}$.", "6\\sqrt{2}", "Prealgebra", 1),
        ("What is $\\frac{2}{3} - \\frac{1}{6}$?", "$\\frac{4}{6} - \\frac{1}{6} = \\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}",
         "Prealgebra", 1),
        ("Solve $x^2 - x - 6 = 0$. Give all solutions, separated by commas.", "$(x-3)(x+2) = 0$, so $\\boxed{3, -2}$.",
         "3, -2", "Algebra", 2),
        ("Find the vertex of $y = (x-2)^2 + 5$.", "It is $\\boxed{(2,5)}$.", "(2,5)", "Algebra", 2),
        ("Expand $(x+1)(x-4)$.", "We get $\\boxed{x^2 - 3x - 4}$.", "x^2 - 3x - 4", "Algebra", 1),
        ("How many ways are there to order 5 books?", "$5! = \\boxed{120}$.", "120", "Counting & Probability", 2),
        ("Two dice are thrown. With what probability is the sum 4?", "$\\boxed{\\frac{1}{12}}$.", "\\frac{1}{12}",
         "Counting & Probability", 3),
        ("A right triangle has legs 6 cm and 8 cm. How long is the third side, in centimeters?", "$\\boxed{10\\text{ cm}}$.",
         "10\\text{ cm}", "Geometry", 1),
        ("What is the remainder of $3^{20}$ divided by $10$?", "$3^4 = 81$, so it is $\\boxed{1}$.", "1", "Number Theory", 3),
        ("For which $x$ is $\\sqrt{x-1}$ real? Answer with an interval.", "$\\boxed{[1,\\infty)}$.", "[1,\\infty)",
         "Intermediate Algebra", 4),
        ("Write $1 + i$ in the form $r e^{i\\theta}$; what is $\\theta$?", "$\\boxed{\\frac{\\pi}{4}}$.", "\\frac{\\pi}{4}",
         "Precalculus", 4),
        ("Compute $\\begin{pmatrix} 1 & 2 \\\\ 0 & 1 \\end{pmatrix} \\begin{pmatrix} 3 \\\\ 1 \\end{pmatrix}$.",
         "$\\boxed{\\begin{pmatrix} 5 \\\\ 1 \\end{pmatrix}}$.", "\\begin{pmatrix} 5 \\\\ 1 \\end{pmatrix}", "Precalculus", 5),
        ("Is 91 prime, even, or neither? Answer with one word.", "$91 = 7 \\cdot 13$: $\\boxed{\\text{neither}}$.",
         "\\text{neither}", "Number Theory", 2),
    ]  # fmt: skip
    return [
        {
            "problem": problem,
            "solution": solution,
            "answer": answer,
            "subject": subject,
            "level": level,
            "unique_id": f"test/{subject.lower().replace(' & ', '_and_').replace(' ', '_')}/{number}.json",
        }
        for number, (problem, solution, answer, subject, level) in enumerate(made, 1)
    ]


def samples() -> list[Sample]:
    return [Sample(HUB_ID, "test", FEATURES, _rows())]
