"""Bytes and JSON to and from `rig.model`: requests, replies, faults. No I/O."""
