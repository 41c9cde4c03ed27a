internal import Glibc
internal import HostResolver

/// The part of the catalogue that is about sockets.
extension Sentence {
    static let emptyBuffer = Sentence(
        "socket.emptyBuffer", "A stream cannot be received into an empty buffer: nothing would look like its end.")
    static let alreadyConnecting = Sentence(
        "socket.connecting", "The socket is being connected already; wait for that, or make a new socket.")
    static let alreadyConnected = Sentence(
        "socket.connected", "The socket is connected already; make a new one for another connection.")
    static let borrowedConnect = Sentence(
        "socket.borrowedConnect",
        "A borrowed descriptor that blocks cannot be connected without changing its flags: set O_NONBLOCK on it, or adopt it as owned."
    )
    static let descriptorsExhausted = Sentence(
        "socket.descriptors",
        "The process or the system has no descriptor left: close some, or raise the limit (ulimit -n).")
    static let oneArrival = Sentence(
        "socket.oneArrival", "A client can have one of .read, .accept and .data: they are three ways to tell the same.")
    static let notAStream = Sentence(
        "socket.notAStream", "Only a connected stream socket can be turned into streams.")
    static let portNotShared = Sentence(
        "socket.portNotShared",
        "No port was found that is free for both IPv4 and IPv6; name one, or close what holds so many.")

    static func socketNotMade(_ family: SocketFamily, _ number: Int32) -> Sentence {
        switch number {
        case EMFILE, ENFILE: descriptorsExhausted
        case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT:
            Sentence("socket.unsupported", "This system has no sockets of that kind (%1).", family.description)
        case EPERM, EACCES:
            Sentence("socket.privileges", "Such a socket needs privileges (CAP_NET_RAW); the system refused it.")
        default: posix(number)
        }
    }

    static func notAdopted(_ descriptor: Int32, _ number: Int32) -> Sentence {
        switch number {
        case EBADF: Sentence("socket.noDescriptor", "Descriptor %1 is not open.", String(descriptor))
        case ENOTSOCK: Sentence("socket.notASocket", "Descriptor %1 is not a socket.", String(descriptor))
        default: posix(number)
        }
    }

    static func bindFailed(_ address: SocketAddress, _ number: Int32) -> Sentence {
        let text = address.description
        switch (number, address) {
        case (EADDRINUSE, .unix):
            return Sentence(
                "bind.fileExists", "There is a socket at %1 already: stop its owner, or remove the file if that died.",
                text)
        case (EADDRINUSE, _):
            return Sentence(
                "bind.inUse",
                "The address %1 is in use by another socket: choose another port, or find its owner with ss -tulpn.",
                text)
        case (EACCES, .ip(_, let port)) where port < 1024:
            return Sentence(
                "bind.privileges",
                "Port %1 needs privileges: take one from 1024 up, or give the program CAP_NET_BIND_SERVICE.",
                String(port))
        case (EADDRNOTAVAIL, _):
            return Sentence("bind.notOurs", "No interface of this machine has the address %1.", text)
        case (ENOENT, .unix), (ENOTDIR, .unix):
            return Sentence("bind.noDirectory", "The directory for the socket %1 does not exist.", text)
        default:
            return Sentence("bind.failed", "The socket cannot be bound to %1: %2.", text, systemReason(number))
        }
    }

    static func sendFailed(_ address: SocketAddress?, count: Int, _ number: Int32) -> Sentence {
        let text = address?.description ?? "the peer"
        switch number {
        case EMSGSIZE:
            return Sentence("send.tooLong", "A datagram of %1 bytes is more than can go to %2.", String(count), text)
        case ENOTCONN, EDESTADDRREQ:
            return Sentence(
                "send.noAddress", "The socket is not connected: connect it, or say to which address to send.")
        case EACCES, EPERM:
            return Sentence(
                "send.forbidden", "Sending to %1 is forbidden; a broadcast address needs the option .allowsBroadcast.",
                text)
        default:
            return Sentence("send.failed", "Sending to %1 failed: %2.", text, systemReason(number))
        }
    }

    static func optionFailed(_ name: String, _ number: Int32) -> Sentence {
        Sentence("option.failed", "The socket option %1 was refused: %2.", name, systemReason(number))
    }

    static func noInterface(_ name: String) -> Sentence {
        Sentence("socket.noInterface", "This machine has no network interface named %1.", name)
    }

    private static func systemReason(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let start = buffer.baseAddress, strerror_r(number, start, buffer.count) == 0 else {
                return "error \(number)"
            }
            return String(cString: start)
        }
    }
}
