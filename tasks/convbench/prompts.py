"""ConvBench: what its judge is asked about each turn and about the whole conversation, and how a preference is extracted.

Source: ConvBenchEval/prompts.py and convbencheval.py of github.com/shirlyliu64/ConvBench at 309508e, word for word.
"""

# ruff: noqa: E501

from collections.abc import Sequence

TURNS = ("first turn", "second turn", "third turn", "overall conversation")
LEADS = (
    (
        """You are ImageTaskEvaluationGPT, an expert language model at judging whether or not a response adequately addresses an instruction in the context of an image. More specifically, you will be given the following:

1. An image context: This will describe the contents of an image with sufficient detail to address the instruction.
2. Three progressive turn instructions: These are three turn questions, the three questions are progressive.
3. Two sets of responses from two AI assistants (AI assistant A and AI assistant B): Each set comes from an AI assistant and has three corresponding answers to attempt to address those three turn instructions in the context of the image.

Your job is to judge whether the first turn response from Assistant A or the first turn response from Assitant B better. A and B are randomly ordered.

Some things to remember:

- Even though you are just a language model, the image description will be sufficiently detailed so that your judgements can be accurate.
- You should choose the assistant the follows the user's first instruction and answers the user's first question better.
- You are capable of judging response quality, accounting for important factors like correctness, relevance, fluency etc.
- Avoid any position biases and ensure that the order in which the responses were presented does not influence your decision.
- Do not allow the length of the responses to influence your evaluation. 
- Do not favor certain names of the assistants. Be as objective as possible.
- You think step-by-step, but ultimately respond with "Response A" or "Response B\"""",
        """I will describe an image to you, and provide three progressive instructions. Then, I will give you two sets of candidate responses from two AI assistants that address the three progressive instructions in the context of the image: these will be labelled "Assistant A" and " Assistant B". Your job is to first reason step-by-step about which response for the first turn instruction is better in terms of accuracy, relevance, fluency, etc. After reasoning step-by-step and comparing the pros/cons of corresponding responses for the first turn instruction, in the end, respond with "Overall, Response X is better." where X is either A or B.""",
        """Sure, please provide the image context, the three progressive instructions, and the two sets of candidate responses. Then, I will think step-by-step and provide my ultimate judgement as to which response for the first turn instruction is better.""",
    ),
    (
        """You are ImageTaskEvaluationGPT, an expert language model at judging whether or not a response adequately addresses an instruction in the context of an image. More specifically, you will be given the following:

1. An image context: This will describe the contents of an image with sufficient detail to address the instruction.
2. Three progressive turn instructions: These are three turn questions, the three questions are progressive.
3. Two sets of responses from two AI assistants (AI assistant A and AI assistant B): Each set comes from an AI assistant and has three corresponding answers to attempt to address those three turn instructions in the context of the image.

Your job is to judge whether the second turn response from Assistant A or the second turn response from Assitant B better. A and B are randomly ordered.

Some things to remember:

- Even though you are just a language model, the image description will be sufficiently detailed so that your judgements can be accurate.
- You should choose the assistant the follows the user's second instruction and answers the user's second question better.
- You are capable of judging response quality, accounting for important factors like correctness, relevance, fluency, specificity, etc.
- Avoid any position biases and ensure that the order in which the responses were presented does not influence your decision.
- Do not allow the length of the responses to influence your evaluation. 
- Do not favor certain names of the assistants. Be as objective as possible.
- You think step-by-step, but ultimately respond with "Response A" or "Response B\"""",
        """I will describe an image to you, and provide three progressive instructions. Then, I will give you two sets of candidate responses from two AI assistants that address the three progressive instructions in the context of the image: these will be labelled "Assistant A" and " Assistant B". Your job is to first reason step-by-step about which response for the second turn instruction is better in terms of accuracy, specificity, fluency, etc. After reasoning step-by-step and comparing the pros/cons of corresponding responses for the second turn instruction, in the end, respond with "Overall, Response X is better." where X is either A or B.""",
        """Sure, please provide the image context, the three progressive instructions, and the two sets of candidate responses. Then, I will think step-by-step and provide my ultimate judgement as to which response for the second turn instruction is better.""",
    ),
    (
        """You are ImageTaskEvaluationGPT, an expert language model at judging whether or not a response adequately addresses an instruction in the context of an image. More specifically, you will be given the following:

1. An image context: This will describe the contents of an image with sufficient detail to address the instruction.
2. Three progressive turn instructions: These are three turn questions, the three questions are progressive.
3. Two sets of responses from two AI assistants (AI assistant A and AI assistant B): Each set comes from an AI assistant and has three corresponding answers to attempt to address those three turn instructions in the context of the image.
4. Focus points: There are some focus points which you should consider when you make the judgements. 

Your job is to judge whether the third turn response from Assistant A or the third turn response from Assitant B better. A and B are randomly ordered.

Some things to remember:

- Even though you are just a language model, the image description will be sufficiently detailed so that your judgements can be accurate.
- You should choose the assistant the follows the user's third instruction and answers the user's third question better.
- You are capable of judging response quality, accounting for important factors like correctness, relevance, fluency, specificity, etc.
- Avoid any position biases and ensure that the order in which the responses were presented does not influence your decision.
- Do not allow the length of the responses to influence your evaluation. 
- Do not favor certain names of the assistants. Be as objective as possible.
- You think step-by-step, but ultimately respond with "Response A" or "Response B\"""",
        """I will describe an image to you, and provide three progressive instructions. Then, I will give you two sets of candidate responses from two AI assistants that address the three progressive instructions in the context of the image: these will be labelled "Assistant A" and " Assistant B". Your job is to first reason step-by-step about which response for the third turn instruction is better in terms of accuracy, specificity, fluency, etc. After reasoning step-by-step and comparing the pros/cons of corresponding responses for the third turn instruction, in the end, respond with "Overall, Response X is better." where X is either A or B.""",
        """Sure, please provide the image context, the three progressive instructions, and the two sets of candidate responses. Then, I will think step-by-step and provide my ultimate judgement as to which response for the third turn instruction is better.""",
    ),
    (
        """You are ImageTaskEvaluationGPT, an expert language model at judging the multi-turn conversation instruction-following ability of an AI assistant. More specifically, you will be given the following:

1. An image context: This will describe the contents of an image with sufficient detail to address the instruction.
2. Three progressive turn instructions: These are three turn questions, the three questions are progressive.
3. Two sets of responses from two AI assistants (AI assistant A and AI assistant B): Each set comes from an AI assistant and has three corresponding answers to attempt to address those three turn instructions in the context of the image.
4. Three evaluations for three turn responses: The three evaluations of the three turn responses are provided to be helpful for evaluating the overall conversation performance.

Your job is to judge whether the overall conversation from Assistant A or the overall conversation from Assitant B better. A and B are randomly ordered.

Some things to remember:

- Even though you are just a language model, the image description will be sufficiently detailed so that your judgements can be accurate.
- You should choose the assistant the follows the user's instructions and answers the user's questions better.
- You are capable of judging overall conversation quality, accounting for the multi-turn conversation and instruction-following ability, according to correctness, relevance, fluency, specificity, etc.
- Avoid any position biases and ensure that the order in which the responses were presented does not influence your decision.
- Do not allow the length of the responses to influence your evaluation. 
- Do not favor certain names of the assistants. Be as objective as possible.
- You think step-by-step, but ultimately respond with "Response A" or "Response B\"""",
        """I will describe an image to you, and provide three progressive instructions. Then, I will give you two sets of candidate responses that address the three progressive instructions in the context of the image: these will be labelled "Assistant A" and "Assistant B". Your job is to first reason step-by-step about which conversation is better in terms of accuracy, specificity, fluency, etc. After reasoning step-by-step and comparing the pros/cons of each conversation, in the end, respond with "Overall, Response X is better." where X is either A or B.""",
        """Sure, please provide the image context, the three progressive instructions, and the two sets of candidate responses. Then, I will think step-by-step and provide my ultimate judgement as to which conversation is better.""",
    ),
)
"""The system's, user's and assistant's messages before each of the four questions."""
CONVERSATIONS = """OK. Here are the image, the image description, the instructions, the high-quality references, and the responses.
Image context: {}

<|The Start of Assistant A’s Conversation with User|>
### The first turn question from user:
{}

### The first turn response from Assistant A:
{}

### The second turn question from user:
{}

### The second turn response from Assistant A:
{}

### The third question from user:
{}

### The third turn response from Assistant A:
{}

<|The End of Assistant A’s Conversation with User|>

<|The Start of Assistant B’s Conversation with User|>
### The first turn question from user:
{}

### The first turn response from Assistant B:
{}

### The second turn question from user:
{}

### The second turn response from Assistant B:
{}

###The third turn question from user:
{}

### The third turn response from Assistant B:
{}

<|The End of Assistant B’s Conversation with User|>

"""
DEMANDS = """There are some concerns which you should focus when make your judgements for the response:{}.

"""
EVALUATIONS = """The first turn evaluation: {}.
 The second turn evaluation: {}.
 The third turn evaluation: {}.

"""
END = """Think step-by-step, compare the {} responses from the two assistants, and finish your response with "Overall, Response X is better." where X is either A or B."""
EXTRACTION = """You are FinalAnswerExtractionGPT, an expert language model at extracting multiple choice answers from written out from longer explanations. You will be given several sentences describing a thought process which should eventually contain a final answer, either A or B. Your job is to extract the final answer that the explanation arrives at.

Some things to remember:

- Keep your answers short: only output "Final Answer: X" where X is A or B
- If the explanation doesn't mention a final choice explicitly, you can output "Unknown\""""
EXAMPLES = (
    (
        """Step-by-step reasoning:

- First, I consider the instruction, which asks if anything else in the image has the same color as the tiny sphere.
- Then, I look at the image context and note that there are several colored shapes in the image, including the tiny sphere. 
- From the high quality reference, I see that the large matte grey sphere has the same color as the tiny sphere.
- Looking at Response A, it says that there is a cube that has the same color as the tiny sphere. But the high quality reference only mentions the large matte grey sphere having the same color, not the cube. Therefore, Response A is not accurate.
- In contrast, Response B says that there is nothing else in the image that has the same color as the tiny sphere. The high quality reference contradicts this response, stating that the large matte grey sphere shares the same color with the tiny sphere. 
- Therefore, Response B is not accurate or correct.
- Overall, based on accuracy in addressing the instruction and matching the high quality reference, Response A is not the best choice and Response B is incorrect. Therefore, the better response is Response B: "No, there is nothing else in the image that has the same color as the tiny sphere.\"""",
        """Final Answer: Response B""",
    ),
    (
        """Let's compare the two responses step-by-step:

Response A:
- Gives the correct number of trips (4 trips)
- Lacks details on how it came up with the answer (no explanation)

Response B:
- Correctly identified the bicycle with the wooden crate
- Incorrectly estimated the number of trips (2 trips instead of 4)
- Mentions a large cart, which is not in the image context provided
- Recognizes the challenge of fitting toddler and all items
- Provides more detailed explanation but accuracy is an issue

Considering accuracy, specificity, fluency, and relevance, let's make a judgement:

Response B is better in terms of fluency and relevance while Response A is better in terms of accuracy and specificity. Since accuracy is crucial in this case, and given the high-quality reference backs the number of trips (4), we prioritize correctness.

Overall, I choose A.""",
        """Final Answer: Response A""",
    ),
    (
        """Upon analyzing the image description and the instruction, it is clear that the instruction is asking for the implied meaning of a comment received by the creator of the burnt pizza in the image. The high-quality reference suggests that the compliment of "being very talented" is actually sarcastic and that the burnt pizza is not a sign of talent. Looking at Response A, it seems like the response is describing the pizza and the plate without really addressing the implication of the comment. Response B, on the other hand, does directly address the instruction and implies that the praise is sincere even though the pizza is burnt. Therefore, overall, Response B is better.""",
        """Final Answer: Response B""",
    ),
)


def asked(
    turn: int, caption: str, questions: Sequence[str], a: Sequence[str], b: Sequence[str], more: Sequence[str] = ()
) -> list[dict[str, str]]:
    """The messages about a turn (3: the conversation). a, b: the three answers of both. more: demands or evaluations."""
    said = [text for answers in (a, b) for pair in zip(questions, answers, strict=True) for text in pair]
    form = CONVERSATIONS + ("", "", DEMANDS, EVALUATIONS)[turn] + END
    texts = (*LEADS[turn], form.format(caption, *said, *more, TURNS[turn]))
    return [
        {"role": role, "content": text}
        for role, text in zip(("system", "user", "assistant", "user"), texts, strict=True)
    ]


def extracted(evaluation: str) -> list[dict[str, str]]:
    """The messages that ask which response an evaluation prefers."""
    last = "\nPlease extract the final answer from the above text."
    shown = [(role, text) for pair in EXAMPLES for role, text in (("user", pair[0] + last), ("assistant", pair[1]))]
    texts = [("system", EXTRACTION), *shown, ("user", evaluation + last)]
    return [{"role": role, "content": text} for role, text in texts]
