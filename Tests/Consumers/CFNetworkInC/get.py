"""Loads a URL with CFNetwork from Python, blocking: python3 get.py LIBRARY URL, where LIBRARY is libCFNetwork.so.1."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])


def function(name, result, *arguments):
    """A function of CFNetwork, or of the CoreFoundation that it brings along."""
    found = getattr(library, name)
    found.restype, found.argtypes = result, arguments
    return found


pointer, index = ctypes.c_void_p, ctypes.c_long
create_string = function("CFStringCreateWithCString", pointer, pointer, ctypes.c_char_p, ctypes.c_uint32)
create_url = function("CFURLCreateWithString", pointer, pointer, pointer, pointer)
create_request = function("CFHTTPMessageCreateRequest", pointer, pointer, pointer, pointer, pointer)
create_stream = function("CFReadStreamCreateForHTTPRequest", pointer, pointer, pointer)
open_stream = function("CFReadStreamOpen", ctypes.c_ubyte, pointer)
read = function("CFReadStreamRead", index, pointer, pointer, index)
copy_property = function("CFReadStreamCopyProperty", pointer, pointer, pointer)
status_code = function("CFHTTPMessageGetResponseStatusCode", index, pointer)
release = function("CFRelease", None, pointer)


def constant(name):
    return pointer.in_dll(library, name)


def string(text):
    return create_string(None, text.encode(), 0x08000100)  # UTF-8


url = create_url(None, string(sys.argv[2]), None)
request = create_request(None, string("GET"), url, constant("kCFHTTPVersion1_1"))
stream = create_stream(None, request)
if not open_stream(stream):
    sys.exit("cannot open the stream")
buffer = ctypes.create_string_buffer(4096)
length = 0
while (count := read(stream, buffer, len(buffer))) > 0:
    length += count
if count < 0:
    sys.exit("the load failed")
response = copy_property(stream, constant("kCFStreamPropertyHTTPResponseHeader"))
print(status_code(response))
print(length, "bytes")
for thing in (response, stream, request, url):
    release(thing)
