"""What tests that read source code have in common."""

import ast


def called(function: ast.expr) -> str:
    """The dotted name of what is called; "?" stands for an expression before it. `ast.unparse` takes twenty times as long."""
    if isinstance(function, ast.Attribute):
        return f"{called(function.value)}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else "?"
