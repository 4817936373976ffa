"""OCRBench v2: which ability each of its 30 types of questions belongs to."""

ABILITIES = {
    "text recognition": ("text recognition en", "fine-grained text recognition en", "full-page OCR en", "full-page OCR cn"),
    "text detection": ("text grounding en", "VQA with position en"),
    "text spotting": ("text spotting en",),
    "relationship extraction": ("key information extraction en", "key information mapping en", "key information extraction cn",
                                "handwritten answer extraction cn"),
    "element parsing": ("document parsing en", "chart parsing en", "table parsing en", "formula recognition en",
                        "document parsing cn", "table parsing cn", "formula recognition cn"),
    "mathematical calculation": ("math QA en", "text counting en"),
    "visual text understanding": ("document classification en", "cognition VQA en", "diagram QA en", "cognition VQA cn"),
    "knowledge reasoning": ("reasoning VQA en", "science QA en", "APP agent en", "ASCII art classification en",
                            "reasoning VQA cn", "text translation cn"),
}  # fmt: skip
ABILITY = {kind: ability for ability, kinds in ABILITIES.items() for kind in kinds}
