"""Small nets that call their activations in every way: functions, methods, branches, loops, shared modules."""

import torch
from convert_nets import Linears
from torch import nn
from torch.nn import functional as F

relu_by_another_name = torch.relu
global_activation = nn.ReLU()


def decorated(function):
    def wrapper(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    return wrapper


class Functions(Linears):
    def forward(self, x):
        x = F.relu(self.first(x), inplace=True)
        x = torch.relu(self.second(x))
        x = self.first(x).relu()
        x = self.second(x).relu_()
        x = F.relu_(self.first(x))
        x = nn.functional.relu(input=self.second(x))
        return global_activation(self.first(relu_by_another_name(self.second(x))))


class Methods(Linears):
    """Calls in methods that forward reaches, in an inner function, behind a decorator, and in private names."""

    __scale = 2.0

    def forward(self, x, *, scale: float = 1.0):
        return self.tail(self.head(x)) * scale

    @decorated
    def head(self, x):
        """A docstring."""

        def inner(y):
            return F.relu(self.first(y))

        return inner(x) * self.__scale

    def tail(self, x):
        with torch.no_grad():
            x = torch.relu(self.second(x))
        return x if self.training else x.relu()


class Branches(Linears):
    """What a trace would fix: a branch on data, on an optional argument and on the mode."""

    def forward(self, x, mask=None):
        x = F.relu(self.first(x))
        if mask is not None:
            x = x * mask
        if x.sum() > 3:
            x = F.relu(self.second(x))
        return F.relu(self.first(x)) if self.training else x


class Alternatives(Linears):
    """Calls that exclude each other share a site: an angle learnt in training is also used in evaluation."""

    def forward(self, x):
        if self.training:
            x = self.first(x)
            x = F.relu(x)
        else:
            x = self.fused(x)
        if x.ndim == 3:
            return F.relu(self.second(x))
        return F.relu(self.first(x)) if x.sum() > 3 else F.relu(self.second(x))

    def fused(self, x):
        return torch.relu(self.first(x))


class AlternativesOfModule(Linears):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        if self.training:
            return self.act(self.first(x))
        return self.act(self.second(x))


class LoopOfModule(Linears):
    def __init__(self):
        super().__init__(3)
        self.act = nn.ReLU()

    def forward(self, x):
        for layer in self.layers:
            x = self.act(input=layer(x))
        return x


class LoopOfFunction(Linears):
    def forward(self, x):
        parts = [F.relu(layer(x)) for layer in self.layers]
        for index, layer in enumerate(self.layers):
            x = F.relu(layer(x)) if index < 1 else layer(x)
        return x + sum(parts)


class Shared(Linears):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.relu_1 = nn.Linear(6, 6)  # a name that is taken

    def forward(self, x):
        return self.relu_1(self.relu(self.second(self.relu(self.first(x)))))


class Attribute(Linears):
    """Functions in attributes of the instance and of the class."""

    gate = staticmethod(F.relu)

    def __init__(self):
        super().__init__()
        self.activation = F.relu

    def forward(self, x):
        return self.gate(self.second(self.activation(input=self.first(x))))
