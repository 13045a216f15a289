"""What a fake server saw of its connections. Values only, no I/O."""


class Connections:
    """Counts of the connections of one `FakeBackend`.

    Attributes:
        opened: connections accepted so far.
        open: how many of them are open now.
        requests: requests received on each, in the order they were opened.
    """

    def __init__(self) -> None:
        self.opened = 0
        self.open = 0
        self.requests: list[int] = []

    def start(self) -> int:
        """Count a new connection and return its number, from 0."""
        self.opened += 1
        self.open += 1
        self.requests.append(0)
        return self.opened - 1

    def end(self) -> None:
        """Count the end of one."""
        self.open -= 1

    def __repr__(self) -> str:
        return f"<Connections: {self.opened} opened, {self.open} open, requests {self.requests}>"
