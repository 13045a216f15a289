"""How long a profile may take and how long it is believed: the defaults of `Client.profile`."""

from typing import Final

CACHE_S: Final = 86_400.0
"""Seconds a profile is believed: a day. A server that was started with other flags seldom says so, and a
profile costs less than a minute."""

BUDGET_S = 55.0
"""Seconds for a whole profile, so that it stays below a minute. A healthy server with a small model needs
10 to 30; what is not reached is not measured, and says so."""
