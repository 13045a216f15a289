"""Questions beside the chat: one memory for all of them, loaded when there is one to ask."""

from rig import Client


async def test_a_client_that_only_chats_has_no_questions() -> None:
    async with Client("http://127.0.0.1:1") as client:
        assert "_inquiry" not in vars(client)


async def test_what_was_found_out_is_kept_from_one_question_to_the_next() -> None:
    async with Client("http://127.0.0.1:1") as client:
        first = client._inquiry
        assert client._inquiry is first
        assert first.line.tokens is first.tokens
