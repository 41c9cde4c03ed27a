"""The methods of Server.swift by grpcio. Prints the URL first, and ends with its input."""

import os, queue, sys, threading
from concurrent import futures
import grpc

notices = queue.Queue()


def echo(messages, context):
    fields = context.invocation_metadata()
    context.send_initial_metadata([(key, value) for key, value in fields if key == "x-text"])
    context.set_trailing_metadata([(key, value) for key, value in fields if key == "x-bytes-bin"])
    yield from messages


def count(messages, context):
    sizes = [len(message) for message in messages]
    yield f"{len(sizes)} messages, {sum(sizes)} bytes".encode()


def grow(messages, context):
    for message in messages:
        for number in range(int(message)):
            yield b"\x01" * (number * 100)


def chat(messages, context):
    for message in messages:
        yield message + b"!"


def stop(messages, context):
    yield next(messages)
    yield from refuse(messages, context)


def refuse(messages, context):
    context.set_trailing_metadata([("x-why", "because")])
    context.abort(grpc.StatusCode.OUT_OF_RANGE, "100 % ungültig")
    yield b""


def hold(messages, context):
    ended = threading.Event()
    context.add_callback(lambda: (notices.put(b"cancelled"), ended.set()))
    yield from messages
    ended.wait()


def noticed(messages, context):
    yield notices.get(timeout=30)


def exit_here(messages, context):
    os._exit(0)
    yield b""


methods = dict(
    Echo=echo, Count=count, Grow=grow, Chat=chat, Stop=stop, Refuse=refuse, Hold=hold, Noticed=noticed, Exit=exit_here)
server = grpc.server(futures.ThreadPoolExecutor(max_workers=16))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
    "netkit.Letters", {name: grpc.stream_stream_rpc_method_handler(method) for name, method in methods.items()})])
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(f"http://127.0.0.1:{port}", flush=True)
sys.stdin.read()
os._exit(0)
