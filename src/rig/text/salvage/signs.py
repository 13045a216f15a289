"""The signs without which no text is a call: looked for before anything else of salvaging is loaded. No I/O."""

import re
from typing import Final

SIGNS: Final = re.compile(r"[(<>\[{~`:=*|_\u273f]")
"""A text without any of these characters holds no call, marked or not: each mark has one, and a call without
marks its parenthesis. Plain prose is not searched any further."""
