"""What the symbols of Python files say, by Python's own parser: the second opinion of `cargo ken-bench validity`.

Reads paths from standard input, relative to the folder given, and prints one line of JSON a file:
{"path", "symbols": [{"name", "kind", "hash", "size"}]} or {"path", "error"}.

Left out: positions, comments, documentation strings, the symbol's own name, the `u` before strings. The parser itself
leaves out layout, quotes, parentheses and commas that say nothing. With `--show NAME` it prints what is hashed.
"""

import ast
import hashlib
import json
import sys
import warnings
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (*FUNCTIONS, ast.ClassDef, ast.Module)
ALIAS = getattr(ast, "TypeAlias", ())


def without_documentation(tree):
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        if isinstance(node, ast.Constant):
            node.kind = None
    return tree


def said(node, blank):
    """Returns a node as text, its own name blanked out."""
    holder, field = blank
    name = getattr(holder, field)
    setattr(holder, field, "_")
    text = ast.dump(node)
    setattr(holder, field, name)
    return text


def symbols(node, outer, in_body):
    """Goes through statements, in the order of the source."""
    for child in ast.iter_child_nodes(node):
        inner, inside = outer, in_body
        if isinstance(child, FUNCTIONS):
            yield outer + child.name, "function", said(child, (child, "name"))
            inner, inside = f"{outer}{child.name}.", True
        elif isinstance(child, ast.ClassDef):
            yield outer + child.name, "type", said(child, (child, "name"))
            inner = f"{outer}{child.name}."
        elif not in_body:
            name = assigned(child)
            if name is not None:
                yield outer + name.id, "other", said(child, (name, "id"))
        yield from symbols(child, inner, inside)


def assigned(node):
    """Returns the name that a statement gives a value, if it is one name."""
    target = None
    if isinstance(node, ast.Assign):
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    elif ALIAS and isinstance(node, ALIAS):
        target = node.name
    return target if isinstance(target, ast.Name) else None


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return without_documentation(ast.parse(path.read_bytes()))


def main():
    root, show = Path(sys.argv[1]), sys.argv[3:]
    sys.setrecursionlimit(20_000)
    for line in sys.stdin:
        path = line.rstrip("\n")
        try:
            found = list(symbols(read(root / path), "", False))
        except (SyntaxError, ValueError, RecursionError) as error:
            print(json.dumps({"path": path, "error": str(error)}))
            continue
        for name, _, text in found:
            if name in show:
                print(text)
        if not show:
            listed = [
                {
                    "name": name,
                    "kind": kind,
                    "hash": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32],
                    "size": text.count("("),
                }
                for name, kind, text in found
            ]
            print(json.dumps({"path": path, "symbols": listed}))


main()
