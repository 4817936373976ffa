"""The texts of the judge prompt that matches an answer with the options of a question.

Source: vlmeval/dataset/utils/multiple_choice.py of github.com/open-compass/VLMEvalKit at e8e78f0, word for word.
"""

# ruff: noqa: E501

ENGLISH = """\
You are an AI assistant who will help me to match an answer with several options of a single-choice question. You are provided with a question, several options, and an answer, and you need to find which option is most similar to the answer. If the meaning of all options are significantly different from the answer, output Z. Your should output a single uppercase character in A, B, C, D (if they are valid options), and Z. 
Example 1: 
Question: What is the main object in image?
Options: A. teddy bear B. rabbit C. cat D. dog
Answer: a cute teddy bear
Your output: A
Example 2: 
Question: What is the main object in image?
Options: A. teddy bear B. rabbit C. cat D. dog
Answer: Spider
Your output: Z
Example 3: 
Question: {}?
Options: {}
Answer: {}
Your output: """
CHINESE = """\
你是一个帮助我匹配答案与单选题中多个选项的 AI 助手。你会被提供：一个问题，多个选项，一个答案。你的任务是找到与答案意义最相近的选项。如果所有选项的意义都与答案显著不同，则输出 Z。你应该输出一个单个的大写字母，例如 A, B, C, D（如果它们是有效选项），或 Z。例 1:问题: 图中最主要的物体是什么?
选项: A. 泰迪熊 B. 兔子 C. 猫 D. 狗
答案: 一只可爱的泰迪熊
输出: A
例 2: 
问题: 图中最主要的物体是什么?
选项: A. 泰迪熊 B. 兔子 C. 猫 D. 狗
答案: 蜘蛛
输出: Z
例 3: 
问题: {}?
选项: {}
答案: {}
输出: """
"""Two examples, and the question, its options and the answer in {}."""
