"""The child process of `LocalModel`: llama.cpp's own HTTP server, from the xllamacpp wheel.

Reads its settings as one line of JSON from stdin, prints the address, and ends on SIGTERM or when
stdin closes, so that it never outlives the process that started it. It imports nothing of rig: it is
run by its path, and starts as fast as the model loads.
"""

import json
import os
import signal
import sys
import threading
from importlib import import_module
from typing import Any

ADDRESS_PREFIX = "listening on "


def main() -> None:
    """Serve until told to stop."""
    settings = json.JSONDecoder().decode(sys.stdin.readline())
    stopping = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stopping)
    threading.Thread(target=_stop_when_stdin_closes, daemon=True).start()
    # By name: the wheel is optional and has no types.
    xllamacpp: Any = import_module("xllamacpp")
    server = xllamacpp.Server(_configured(xllamacpp.CommonParams(), settings))
    sys.stdout.write(f"{ADDRESS_PREFIX}{server.listening_address}\n")
    sys.stdout.flush()
    signal.sigwait(stopping)
    os._exit(0)  # the wheel's own teardown can hang on requests in progress


def _configured(params: Any, settings: dict[str, Any]) -> Any:  # noqa: ANN401 no types, see above
    params.model.path = settings["model_path"]
    params.model_alias = {settings["name"]}
    params.chat_template = settings["chat_template"]
    params.use_jinja = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = settings["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    if settings["api_key"]:
        params.api_keys = [settings["api_key"]]
    return params


def _stop_when_stdin_closes() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
