"""Value of the key policy: a name, or a name and the policy's own parameters."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_serializer
from pydantic_core import PydanticCustomError


def _text(value: Any) -> Any:
    """A name or a path; nothing that looks like one."""
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise PydanticCustomError("text", "input should be text that is not empty")
    return value


Text = Annotated[str, BeforeValidator(_text)]


class PolicyChoice(BaseModel):
    """A policy and its parameters, which the policy itself declares and checks (Policy.Parameters).

    >>> PolicyChoice(name="stem", epsilon=0.05).parameters
    {'epsilon': 0.05}
    """

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    name: Text

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that the user named."""
        return dict(self.__pydantic_extra__ or {})

    @model_serializer
    def _written(self) -> str | dict[str, Any]:
        """As in the file: the name alone where there is nothing else."""
        return {"name": self.name, **self.parameters} if self.parameters else self.name

    def __str__(self) -> str:
        return self.name


def _choice(value: Any) -> Any:
    """A name stands for a policy with its default parameters."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, dict | PolicyChoice):
        raise PydanticCustomError(
            "policy", "input should be a policy's name, or a mapping of `name` and its parameters"
        )
    return value
