"""httpx as it comes in a program that uses pydantic too, as rig does: for the memory of it."""

from pydantic import BaseModel, TypeAdapter

from benchmarks.drivers.raw_httpx import make

__all__ = ["BaseModel", "TypeAdapter", "make"]
