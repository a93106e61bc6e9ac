"""Tensors on a GPU that is not there, wherever torch is called: they have shape and type and no values.

Those made from values in Python keep them, on the CPU, and so does all that is computed of these alone.
"""

from typing import Any


class Tensors:
    """Tells which tensors are pretended to be on the GPU, and makes calls for those."""

    def __init__(self, torch):
        self.torch = torch
        self.cuda, self.cpu, self.meta = torch.device("cuda", 0), torch.device("cpu"), torch.device("meta")
        self.device = torch.Tensor.device.__get__
        self.with_values = (torch.tensor, torch.as_tensor, torch.from_numpy)
        self.said: dict[Any, Any] = {  # what a tensor says of where it is
            self.device: lambda tensor: self.cuda if self.there(tensor) else self.device(tensor),
            torch.Tensor.is_cuda.__get__: self.there,
            torch.Tensor.get_device: lambda tensor: 0 if self.there(tensor) else -1,
            torch.Tensor.cuda: lambda tensor: (
                tensor if self.there(tensor) else self.marked(tensor.to(self.meta))
            ),
        }

    def there(self, value):
        """Whether it is a tensor on the pretended GPU."""
        return self.lacks_values(value) or (
            isinstance(value, self.torch.Tensor) and hasattr(value, "pretended")
        )

    def lacks_values(self, value):
        return isinstance(value, self.torch.Tensor) and self.device(value) == self.meta

    def named(self, value):
        """Whether it is the name of the GPU."""
        if isinstance(value, self.torch.device):
            return value.type == "cuda"
        return isinstance(value, str) and value.startswith("cuda")

    def call(self, function, args, kwargs):
        """As it is, where nothing of it is on the GPU; else where the values are, or without any."""
        from torch.utils._pytree import tree_flatten, tree_map

        values, _ = tree_flatten((args, kwargs))
        if not any(self.named(value) or self.there(value) for value in values):
            return function(*args, **kwargs)
        known = function in self.with_values or any(map(self.there, values))
        kept = known and not any(map(self.lacks_values, values))

        def moved(value):
            return self.moved(value, kept)

        kwargs = {name: value for name, value in kwargs.items() if not self.draws(value)}
        return tree_map(self.marked, function(*tree_map(moved, args), **tree_map(moved, kwargs)))

    def moved(self, value, kept):
        """An argument, put where the call is made: on the CPU where values are `kept`, else without values."""
        if isinstance(value, self.torch.Tensor):
            return value if kept else value.to(self.meta)
        if self.draws(value) or not self.named(value):
            return value
        return self.cpu if kept else self.meta

    def draws(self, value):
        return isinstance(value, self.torch.Generator)

    def marked(self, value):
        if isinstance(value, self.torch.Tensor):
            value.pretended = True
        return value


def everywhere(torch):
    """Within it, all of torch's functions know the pretended GPU."""
    from torch.overrides import TorchFunctionMode

    tensors = Tensors(torch)

    class Everywhere(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            # Page-locked memory is a card's, too.
            kwargs = {name: value for name, value in (kwargs or {}).items() if name != "pin_memory"}
            if function in tensors.said:
                return tensors.said[function](args[0])
            if function is torch.device:
                return function(*args, **kwargs)
            return tensors.call(function, args, kwargs)

    return Everywhere()
