"""One endpoint: the client, its probes, and the `run` that every model of rig's shares."""

from rig.client.client import Client
from rig.client.running import RunMixin

__all__ = ["Client", "RunMixin"]
