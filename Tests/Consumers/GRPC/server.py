"""The methods of Consumer.swift with grpcio, to run the calls against: python3 server.py 50051; UseGRPC http://127.0.0.1:50051."""

import sys, threading
from concurrent import futures
import grpc

noticed = threading.Event()

def fields(context):
    head = [(k, v) for k, v in context.invocation_metadata() if k == "x-text"]
    tail = [(k, v) for k, v in context.invocation_metadata() if k == "x-bytes-bin"]
    context.send_initial_metadata(head)
    context.set_trailing_metadata(tail)

def echo(messages, context):
    fields(context)
    for message in messages:
        yield message

def count(messages, context):
    sizes = [len(m) for m in messages]
    yield f"{len(sizes)} messages, {sum(sizes)} bytes".encode()

def grow(messages, context):
    for message in messages:
        for number in range(int(message)):
            yield b"\x01" * (number * 100)

def chat(messages, context):
    for message in messages:
        yield message + b"!"

def fail(messages, context):
    context.set_trailing_metadata([("x-why", "because")])
    context.abort(grpc.StatusCode.OUT_OF_RANGE, "100 % ungültig")
    yield b""

def wait(messages, context):
    ended = threading.Event()
    context.add_callback(ended.set)
    ended.wait()
    return
    yield b""

def hold(messages, context):
    context.add_callback(noticed.set)
    for message in messages:
        yield message

def told(messages, context):
    noticed.wait(10)
    yield b"cancelled" if noticed.is_set() else b"nothing"

methods = dict(Echo=echo, Count=count, Grow=grow, Chat=chat, Fail=fail, Wait=wait, Hold=hold, Noticed=told)
server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(
    "netkit.Letters", {name: grpc.stream_stream_rpc_method_handler(f) for name, f in methods.items()})])
port = server.add_insecure_port("127.0.0.1:" + (sys.argv[1] if len(sys.argv) > 1 else "0"))
server.start()
print(port, flush=True)
server.wait_for_termination()
