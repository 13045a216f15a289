"""The version, in one place: the package's metadata and the User-Agent are made of it."""

VERSION = "0.1.0"
