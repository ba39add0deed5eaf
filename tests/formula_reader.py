"""Reads the formulas that describe() shows, by their notation alone."""

import re

import numpy as np


class Reader:
    """Computes the shown text at a point; it knows the notation, and nothing of the trees."""

    TOKEN = re.compile(
        r"\s*(\d+\.?\d*(?:e[+-]\d+)?|Σ_[ij]+|k\(x_i, x_j\)|w'φ\(x_i\)|w'x_i|‖w‖²|‖w‖"
        r"|[αβξsyu]\*?_[ij]|[bMSερ]|√|log|exp|>=|<=|[-+−=²^/()])"
    )

    def __init__(self, text, point):
        self.tokens = self.TOKEN.findall(text)
        assert "".join(self.tokens).replace(" ", "") == text.replace(" ", "")
        self.point = point

    def next(self):
        return self.tokens[0] if self.tokens else ""

    def take(self):
        return self.tokens.pop(0)

    def all(self, rule):
        value = getattr(self, rule)()
        assert not self.tokens
        return value

    def relation(self):
        left, sign, right = self.sum(), self.take(), self.sum()
        return right - left if sign == ">=" else left - right

    def sum(self):
        leading = -1.0 if self.next() == "−" and self.take() else 1.0
        value = leading * self.term()
        while self.next() in ("+", "−"):
            sign = 1.0 if self.take() == "+" else -1.0
            value = value + sign * self.term()
        return value

    def term(self):
        if self.next() == "−":
            self.take()
            return -self.term()
        if self.next().startswith("Σ_"):
            axes = tuple("ij".index(row) for row in self.take()[2:])
            return np.sum(self.term(), axis=axes, keepdims=True)
        value = self.power()
        while self.next() and self.next() not in ("+", "−", ")", ">=", "<=", "="):
            if self.next() == "/":
                self.take()
                value = value / self.power()
            else:
                value = value * (self.term() if self.next().startswith("Σ_") else self.power())
        return value

    def power(self):
        value = self.base()
        while self.next() in ("²", "^"):
            value = value ** (2.0 if self.take() == "²" else self.base())
        return value

    def base(self):
        token = self.take()
        functions = {"√": np.sqrt, "log": np.log, "exp": np.exp}
        if token in functions:
            return functions[token](self.base())
        if token == "(":
            value = self.sum()
            assert self.take() == ")"
            return value
        return self.symbol(token)

    def symbol(self, token):
        p = self.point
        if token[0].isdigit():
            return float(token)
        if token == "k(x_i, x_j)":
            return p["K"]
        if token.startswith("w'"):
            return (p["X"] @ p["w"])[:, None]
        if token == "‖w‖":
            return np.linalg.norm(self.point["w"])
        if token == "‖w‖²":
            return p["w"] @ p["w"]
        if token == "S":
            return np.sum(p["s"])
        name = {"α": "alpha", "β": "beta", "ξ": "xi", "ε": "epsilon", "ρ": "rho"}.get(
            token[0], token[0]
        )
        name += "_star" if "*" in token else ""
        if token.endswith(("_i", "_j")):
            return p[name][:, None] if token.endswith("_i") else p[name][None, :]
        return p[name]
