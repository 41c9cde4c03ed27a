"""FTP servers that attack the client that logs in."""
import socket
import threading

from hostile import Connection, Gone

LINE = b"-rw-r--r-- 1 ftp ftp 1 Jan 01 2020 "


class Server:
    """One control connection: replies as a normal server, except where the attack differs."""

    def __init__(self, connection):
        self.connection = connection
        self.peer = connection.peer
        self.data = None

    def greet(self):
        self.say(b"220 ready")

    def say(self, line):
        self.connection.send(line + b"\r\n")

    def serve(self):
        self.greet()
        while True:
            words = self.connection.read_until(b"\r\n").split(b" ", 1)
            verb = words[0].upper().decode("latin-1")
            argument = words[1] if len(words) > 1 else b""
            getattr(self, verb.lower(), self.unknown)(argument)

    def unknown(self, argument):
        self.say(b"502 no")

    def user(self, argument):
        self.say(b"331 password")

    def pass_(self, argument):
        self.say(b"230 in")

    def type(self, argument):
        self.say(b"200 ok")

    def cwd(self, argument):
        self.say(b"250 ok")

    def pwd(self, argument):
        self.say(b'257 "/"')

    def epsv(self, argument):
        self.data = socket.create_server(("127.0.0.1", 0))
        self.say(b"229 (|||%d|)" % self.data.getsockname()[1])

    def retr(self, argument):
        self.transfer(b"", b"x" * 65536)

    def list(self, argument):
        self.transfer(b"", LINE + b"a\r\n")

    def transfer(self, data, flood=b""):
        """Sends a file or a listing: `data`, and then `flood` repeatedly."""
        self.say(b"150 here it comes")
        connected, _ = self.data.accept()
        self.data.close()
        try:
            connection = Connection(self.peer, connected)
            connection.send(data)
            if flood:
                connection.flood(flood)
        except Gone:
            pass
        finally:
            connected.close()
        self.say(b"226 done")


setattr(Server, "pass", Server.pass_)


class PreliminaryGreetings(Server):
    def greet(self):
        self.connection.flood(b"120 wait\r\n")


class PreliminaryReplies(Server):
    def retr(self, argument):
        self.connection.flood(b"150 wait\r\n")


class PreliminaryDrip(Server):
    def retr(self, argument):
        while True:
            self.connection.drip(b"150 wait\r\n", 0.02)


class EndlessReply(Server):
    def greet(self):
        self.connection.flood(b"220-more\r\n")


class EndlessLine(Server):
    def greet(self):
        self.say(b"220 ready")
        self.connection.flood(b"a" * 65536)


class LongNames(Server):
    def list(self, argument):
        self.transfer(b"", LINE + b"a" * 16000 + b"\r\n")


class EndlessListingLine(Server):
    def list(self, argument):
        self.transfer(b"", b"a" * 65536)


class EndlessTree(Server):
    def list(self, argument):
        names = b"".join(b"drwxr-xr-x 1 ftp ftp 1 Jan 01 2020 d%06d\r\n" % number for number in range(5000))
        self.transfer(names)


class SmallTree(Server):
    def list(self, argument):
        self.transfer(b"".join(LINE + b"f%06d\r\n" % number for number in range(12)))

    def retr(self, argument):
        self.transfer(b"x")


class LongRefusals(Server):
    def list(self, argument):
        self.transfer(b"".join(LINE + b"f%06d\r\n" % number for number in range(5000)))

    def retr(self, argument):
        self.data.close()
        self.say(b"550-no\r\n" + b"\r\n" * 1000 + b"550 " + b"x" * 8000)


class ForeignPassive(Server):
    foreign = None

    def serve(self):
        try:
            super().serve()
        finally:
            if self.foreign:
                self.check(self.foreign)

    def epsv(self, argument):
        self.say(b"502 no")

    def pasv(self, argument):
        self.foreign = socket.create_server(("127.0.0.9", 0))
        port = self.foreign.getsockname()[1]
        self.say(b"227 (127,0,0,9,%d,%d)" % (port >> 8, port & 255))

    def retr(self, argument):
        self.say(b"425 no data connection")

    def check(self, listener):
        """The client has ended: a connection to the other address would be in the listener's queue."""
        with listener:
            listener.setblocking(False)
            try:
                listener.accept()
            except BlockingIOError:
                return
        self.peer.leaked("a connection to an address of the server's choice")


class Plain(Server):
    """The victim must use TLS; credentials that it sends before TLS are leaks."""

    def auth(self, argument):
        self.say(b"502 no TLS here")

    def user(self, argument):
        self.peer.leaked("the user name in the clear")
        self.say(b"331 password")

    def pass_(self, argument):
        self.peer.leaked("the password in the clear")
        self.say(b"230 in")


setattr(Plain, "pass", Plain.pass_)


class Injection(Plain):
    def auth(self, argument):
        self.say(b"234 go on\r\n230 in already")


def listens(server):
    def run(peer):
        peer.say("ready", peer.listen(lambda connection: server(connection).serve()))

    return run


MODES = {
    "ftp-preliminary-greetings": listens(PreliminaryGreetings),
    "ftp-preliminary-replies": listens(PreliminaryReplies),
    "ftp-preliminary-drip": listens(PreliminaryDrip),
    "ftp-reply": listens(EndlessReply),
    "ftp-reply-line": listens(EndlessLine),
    "ftp-file": listens(Server),
    "ftp-listing": listens(Server),
    "ftp-listing-names": listens(LongNames),
    "ftp-listing-line": listens(EndlessListingLine),
    "ftp-tree": listens(EndlessTree),
    "ftp-slow-disk": listens(SmallTree),
    "ftp-tree-refusals": listens(LongRefusals),
    "ftp-foreign-passive": listens(ForeignPassive),
    "ftp-plain": listens(Plain),
    "ftp-tls-injection": listens(Injection),
}
