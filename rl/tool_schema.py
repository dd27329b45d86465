"""Shape of a tool definition in OpenAI's function format, as `webemu.rl.arguments` writes it and prompts, endpoints and
trainers read it. These are types for plain JSON objects; nothing is checked at run time.
"""

from __future__ import annotations

from typing import Literal, Required, TypedDict


class ParameterSchema(TypedDict, total=False):
    """JSON Schema of one parameter. A string has a largest length, an integer a range, an array a number of items."""

    type: Required[Literal["string", "integer", "array"]]
    description: Required[str]
    maxLength: int
    minimum: int
    maximum: int
    items: dict[str, str]
    maxItems: int


class ParametersSchema(TypedDict):
    """JSON Schema of the arguments of a tool."""

    type: Literal["object"]
    properties: dict[str, ParameterSchema]
    """Schemas by parameter name."""
    required: list[str]
    additionalProperties: bool


class FunctionSchema(TypedDict):
    """Name, purpose and parameters of a tool."""

    name: str
    description: str
    parameters: ParametersSchema


class ToolSchema(TypedDict):
    """Tool definition."""

    type: Literal["function"]
    function: FunctionSchema


def function_tool(name: str, description: str, required: list[str], **properties: ParameterSchema) -> ToolSchema:
    """Return a tool definition; `properties` are the schemas of its parameters.

    function_tool("find", "Find a text.", ["pattern"], pattern={"type": "string", "description": "The text."})
    """
    parameters: ParametersSchema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
