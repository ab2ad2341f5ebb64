r"""LaTeX formulas as MathML, which browsers draw by themselves: no script, no font, no network.

Knows what the formulas of this project use; anything else raises, so that no page has an unreadable formula.
"""

from __future__ import annotations

import html
import re

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_]|\d|\s+|.", re.DOTALL)
_ENTITIES = {"to": "rarr", "infty": "infin", "cdot": "middot", "dots": "hellip", "ldots": "hellip", "circ": "compfn"}
"""Most commands have the names of HTML's entities; these have not."""
_FENCES = {"{": "{", "}": "}", "|": "\N{DOUBLE VERTICAL LINE}"}
_FENCES |= {name: html.unescape(f"&{name};") for name in ("langle", "rangle", "lfloor", "rfloor", "lceil", "rceil")}
_SPACES = {",": "0.17em", ";": "0.28em", " ": "0.25em", "!": "-0.17em", "quad": "1em", "qquad": "2em"}
_NAMES = {"ln", "log", "exp", "sin", "cos", "tan", "tanh", "cosh", "sinh", "arctan", "arcsin", "dim", "det"}
_LIMITS = {name: name for name in ("min", "max", "sup", "inf", "lim")}
_LIMITS |= {"sum": "\N{N-ARY SUMMATION}", "prod": "\N{N-ARY PRODUCT}"}
_UPRIGHT = {"mathrm": "mi", "operatorname": "mi", "text": "mtext"}


def mathml(formula: str, display: bool = False) -> str:
    """The element ``<math>`` for a formula."""
    parser = _Parser(formula)
    body = parser.row()
    if parser.left:
        raise ValueError(f"formula: {parser.left[0]!r} without its partner in {formula!r}")
    block = ' display="block"' if display else ""
    return f"<math{block}><mrow>{body}</mrow></math>"


def convert(page: str) -> str:
    """Put MathML in place of what the Markdown extension arithmatex marked."""
    page = re.sub(
        r'<span class="arithmatex">\\\((.*?)\\\)</span>',
        lambda found: mathml(html.unescape(found[1])),
        page,
        flags=re.S,
    )
    return re.sub(
        r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>',
        lambda found: f'<div class="formula">{mathml(html.unescape(found[1]).strip(), display=True)}</div>',
        page,
        flags=re.S,
    )


class _Parser:
    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.left = [token for token in _TOKEN.findall(formula) if not token.isspace()] if formula else []
        if "\\text" in formula:  # spaces count there
            self.left = [" " if token.isspace() else token for token in _TOKEN.findall(formula)]

    def row(self, end: str | None = None) -> str:
        parts = []
        while self.left and self.left[0] not in (end, "}", "\\right"):
            parts.append(self.scripted())
        return "".join(parts)

    def scripted(self) -> str:
        movable = self.left[0].lstrip("\\") in _LIMITS or self.left[:2] == ["\\arg", "\\min"]
        base, under, over = self.atom(), "", ""
        while self.left and self.left[0] in ("_", "^", "'"):
            mark = self.left.pop(0)
            if mark == "_":
                under = self.argument()
            else:
                over += "<mo>&#8242;</mo>" if mark == "'" else self.argument()
        if not (under or over):
            return base
        below, above, both = ("munder", "mover", "munderover") if movable else ("msub", "msup", "msubsup")
        if under and over:
            return f"<{both}>{base}{under}<mrow>{over}</mrow></{both}>"
        return f"<{below}>{base}{under}</{below}>" if under else f"<{above}>{base}<mrow>{over}</mrow></{above}>"

    def argument(self) -> str:
        """One token or what stands in braces."""
        if not self.left:
            raise ValueError(f"formula: something is missing at the end of {self.formula!r}")
        if self.left[0] == " ":
            self.left.pop(0)
        return f"<mn>{self.left.pop(0)}</mn>" if self.left[0].isdigit() else self.atom()

    def atom(self) -> str:
        token = self.left.pop(0)
        if token == "{":
            body = self.row()
            self.expect("}")
            return f"<mrow>{body}</mrow>"
        if token.startswith("\\"):
            return self.command(token[1:])
        if token == " ":
            return ""
        if token.isdigit():
            while self.left and (self.left[0].isdigit() or (self.left[0] == "." and self.left[1:2] != [])):
                token += self.left.pop(0)
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        return f"<mo{_fence(token)}>{'&#8722;' if token == '-' else html.escape(token)}</mo>"

    def command(self, name: str) -> str:
        if name in ("frac", "tfrac", "dfrac"):
            fraction = f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
            return f'<mstyle displaystyle="false">{fraction}</mstyle>' if name == "tfrac" else fraction
        if name == "sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if name in _UPRIGHT:
            kind = _UPRIGHT[name]
            style = ' mathvariant="normal"' if kind == "mi" else ""
            return f"<{kind}{style}>{html.escape(self.words())}</{kind}>"
        if name == "mathbb":
            return f"<mi>{html.unescape(f'&{self.words()}opf;')}</mi>"
        if name in ("mathbf", "boldsymbol"):
            return f'<mrow style="font-weight: bold">{self.argument()}</mrow>'
        if name in ("big", "Big", "bigl", "bigr"):
            return self.delimiter()
        if name == "left":
            opening = self.delimiter()
            body = self.row()
            self.expect("\\right")
            return f"<mrow>{opening}{body}{self.delimiter()}</mrow>"
        if name == "arg" and self.left[:1] == ["\\min"]:
            self.left.pop(0)
            return '<mo movablelimits="true" lspace="0" rspace="0.17em">arg min</mo>'
        if name in _LIMITS:
            return f'<mo movablelimits="true" lspace="0" rspace="0.17em">{_LIMITS[name]}</mo>'
        if name in _NAMES:
            return f'<mi>{name}</mi><mspace width="0.1em"/>'
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"/>'
        if name in _FENCES:
            return f"<mo{_fence(name)}>{_FENCES[name]}</mo>"
        sign = html.unescape(f"&{_ENTITIES.get(name, name)};")
        if len(sign) == 1:
            return f"<mi>{sign}</mi>" if sign.isalpha() or name == "infty" else f"<mo>{sign}</mo>"
        raise ValueError(f"formula: \\{name} is not known, in {self.formula!r}")

    def delimiter(self) -> str:
        token = self.left.pop(0)
        name = token.lstrip("\\")
        shown = "" if token == "." else _FENCES.get(name, token) if token.startswith("\\") else token
        return f'<mo stretchy="true">{html.escape(shown)}</mo>'

    def words(self) -> str:
        self.expect("{")
        words = []
        while self.left and self.left[0] != "}":
            words.append(self.left.pop(0).lstrip("\\"))
        self.expect("}")
        return "".join(words).replace(" ", "\N{NO-BREAK SPACE}")

    def expect(self, token: str) -> None:
        if not self.left or self.left.pop(0) != token:
            raise ValueError(f"formula: {token!r} is missing in {self.formula!r}")


def _fence(token: str) -> str:
    """Delimiters keep their size and stand close, unless ``\\left`` asks for more."""
    is_fence = token in "()[]|" or token in _FENCES
    return ' stretchy="false" lspace="0" rspace="0"' if is_fence else ""
