"""Anthropic's Messages API as a value. Loaded with the first client that speaks it. No I/O."""

from typing import Final

from rig.wire.anthropic.assembly import MessageAssembler
from rig.wire.anthropic.decode import decode_message
from rig.wire.anthropic.encode import API_VERSION, encode_message_request
from rig.wire.wires import Wire

MESSAGES: Final = Wire(
    path="messages",
    headers=(("anthropic-version", API_VERSION),),
    encode=encode_message_request,
    decode=decode_message,
    assembler=lambda: MessageAssembler,
)
