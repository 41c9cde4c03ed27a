"""Heads as a browser sends and receives them while it loads pages: the input of the HPACK rows. The same in each run."""

import random

AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
KINDS = (  # suffix, content type, accepted types, share
    ("", "text/html; charset=utf-8", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 1),
    (".css", "text/css", "text/css,*/*;q=0.1", 2),
    (".js", "application/javascript", "*/*", 4),
    (".png", "image/png", "image/png,image/*;q=0.8,*/*;q=0.5", 6),
    (".jpg", "image/jpeg", "image/png,image/*;q=0.8,*/*;q=0.5", 5),
)
HOSTS = ("www.example.com", "static.example.com", "images.example.net")
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class Heads:
    """Requests and their responses, each a list of (name, value)."""

    def __init__(self, count, seed=1):
        self.random = random.Random(seed)
        self.session = self.token(32)
        pairs = [self.exchange(number) for number in range(count)]
        self.requests = [request for request, _ in pairs]
        self.responses = [response for _, response in pairs]

    def token(self, length):
        return "".join(self.random.choice("0123456789abcdef") for _ in range(length))

    def date(self):
        hour, minute, second = (self.random.randrange(limit) for limit in (24, 60, 60))
        day = self.random.randrange(1, 29)
        return f"{DAYS[day % 7]}, {day:02} Oct 2024 {hour:02}:{minute:02}:{second:02} GMT"

    def exchange(self, number):
        suffix, kind, accept, _ = self.random.choices(KINDS, [kind[3] for kind in KINDS])[0]
        host = HOSTS[0] if suffix == "" else self.random.choice(HOSTS[1:])
        path = f"/articles/2024/{number // 20}" if suffix == "" else f"/assets/{self.token(8)}/{self.token(12)}{suffix}"
        request = [
            (":method", "GET"), (":path", path), (":scheme", "https"), (":authority", host), ("user-agent", AGENT),
            ("accept", accept), ("accept-language", "en-GB,en;q=0.7,de;q=0.3"), ("accept-encoding", "gzip, deflate"),
            ("referer", f"https://{HOSTS[0]}/articles/2024/{number // 20}"),
        ]
        if host == HOSTS[0] or number % 3 == 0:
            request.append(("cookie", f"session={self.session}; visits={number // 40}; theme=dark"))
        if number % 7 == 3:
            request.append(("if-modified-since", self.date()))
        status = "304" if number % 7 == 3 else "200"
        response = [
            (":status", status), ("server", "nginx/1.22.1"), ("date", self.date()), ("content-type", kind),
            ("last-modified", self.date()), ("etag", f"\"{self.token(8)}-{self.token(4)}\""),
            ("cache-control", "public, max-age=31536000" if suffix else "private, no-cache"), ("expires", self.date()),
            ("vary", "Accept-Encoding"), ("accept-ranges", "bytes"), ("x-cache", self.random.choice(("HIT", "MISS"))),
        ]
        if status == "200":
            response.append(("content-length", str(self.random.randrange(200, 200_000))))
        if suffix == "":
            response.append(("set-cookie", f"last={self.token(24)}; path=/; expires={self.date()}; secure; httponly"))
        return request, response


def write(directory, count=160):
    """Writes the heads into two files, each field a line, with an empty line behind each head, and returns their paths."""
    heads = Heads(count)
    paths = {}
    for kind, lists in (("requests", heads.requests), ("responses", heads.responses)):
        paths[kind] = directory / f"{kind}.heads"
        lines = ["".join(f"{name}: {value}\n" for name, value in fields) for fields in lists]
        paths[kind].write_text("\n".join(lines) + "\n")
    return paths
