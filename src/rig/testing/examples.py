"""Worked examples that make a very small model call tools. Values only, no I/O."""

from rig.messages import Message, ToolCall

WEATHER_TOOL = "get_weather"
PRICE_TOOL = "get_price"

_EXCHANGES = (
    (
        "What is the weather in London?",
        WEATHER_TOOL,
        '{"city": "London"}',
        "9 degrees and raining",
        "The weather in London is 9 degrees and raining.",
    ),
    (
        "How much does a banana cost?",
        PRICE_TOOL,
        '{"item": "banana"}',
        "2 dollars",
        "A banana costs 2 dollars.",
    ),
    (
        "What is the weather in Oslo?",
        WEATHER_TOOL,
        '{"city": "Oslo"}',
        "3 degrees and cloudy",
        "The weather in Oslo is 3 degrees and cloudy.",
    ),
    (
        "How much does a book cost?",
        PRICE_TOOL,
        '{"item": "book"}',
        "14 dollars",
        "A book costs 14 dollars.",
    ),
)


def example_exchanges() -> tuple[Message, ...]:
    """Four questions answered with `get_weather(city)` and `get_price(item)`, as a run's `history`.

    A model of 135 million parameters does not call tools by itself; after two complete examples of
    each of two tools it does: measured 20 of 20 at temperature 0.2, 0 of 12 without any.
    """
    messages: list[Message] = []
    for number, (question, name, arguments, result, answer) in enumerate(_EXCHANGES, 1):
        call = ToolCall(id=f"example_{number}", name=name, arguments=arguments)
        messages += [
            Message(role="user", content=question),
            Message(role="assistant", tool_calls=(call,)),
            Message(role="tool", content=result, tool_call_id=call.id, name=name),
            Message(role="assistant", content=answer),
        ]
    return tuple(messages)
