"""Pools tell which models they have, in the way routers ask."""

from rig import Endpoint, Pool
from rig.gateway.catalogue import HasModels
from rig.gateway.listing import Listing


async def test_a_pool_is_asked_what_it_knows() -> None:
    async with Pool([Endpoint("http://127.0.0.1:9/v1", models=("qwen3",))]) as pool:
        told: HasModels = pool
        assert told.has_model("qwen3") is True
        assert await Listing(pool).known(("qwen3", "gemma")) == {"qwen3": True, "gemma": False}
