"""Bytes over sockets: HTTP/1.1, its pool and time-outs, caps, retries."""
