@_spi(Packages) internal import EventLoops
internal import Glibc
internal import HostResolver

/// The messages about sockets.
extension Sentence {
    static let emptyBuffer = Sentence(
        "socket.emptyBuffer",
        "The buffer is empty: a stream socket needs room for at least one byte, since 0 means the end.")
    static let alreadyConnecting = Sentence(
        "socket.connecting", "The socket is already connecting: wait for the outcome, or make a new socket.")
    static let alreadyConnected = Sentence(
        "socket.connected", "The socket is already connected: make a new one for another connection.")
    static let borrowedConnect = Sentence(
        "socket.borrowedConnect",
        "A borrowed descriptor in blocking mode cannot be connected without changing its flags: set O_NONBLOCK, or adopt it as owned."
    )
    static let descriptorsExhausted = Sentence(
        "socket.descriptors",
        "The process or the system has no file descriptors left: close some, or raise the limit (ulimit -n).")
    package static let descriptorsReserved = Sentence(
        "socket.descriptorsReserved",
        "The process has few file descriptors left, which the server does not use: close some, or raise the limit (ulimit -n)."
    )
    package static let clientFull = Sentence(
        "listener.clientFull", "The client has the maximum number of connections (maximumConnectionsPerAddress).")

    package static func listenerFull(_ count: Int) -> Sentence {
        Sentence(
            "listener.full",
            "The listener has its maximum of %1 connections (maximumConnections, ulimit -n): further clients wait.",
            String(count))
    }

    static let oneArrival = Sentence(
        "socket.oneArrival", "Choose one of .read, .accept and .data: they report the same condition in three ways.")
    package static let notAStream = Sentence(
        "socket.notAStream", "Only a connected stream socket can be turned into streams.")
    static let portNotShared = Sentence(
        "socket.portNotShared",
        "No port is free for both IPv4 and IPv6: choose a port, or close sockets that occupy ports.")

    static let passedVariablesInvalid = Sentence(
        "socket.passedVariables", "LISTEN_PID or LISTEN_FDS is not a valid number.")

    static func passedSocketNotListening(_ descriptor: Int32) -> Sentence {
        Sentence(
            "socket.passedNotListening",
            "Descriptor %1, passed by the service manager, is not a listening socket.", String(descriptor))
    }

    static func socketNotMade(_ family: SocketFamily, _ number: Int32) -> Sentence {
        switch number {
        case EMFILE, ENFILE: descriptorsExhausted
        case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT:
            Sentence("socket.unsupported", "This system does not support such sockets (%1).", family.description)
        case EPERM, EACCES:
            Sentence("socket.privileges", "This type of socket requires privileges (CAP_NET_RAW).")
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
                "bind.fileExists",
                "A socket already exists at %1: stop its owner, or remove the file if it has no owner.",
                text)
        case (EADDRINUSE, _):
            return Sentence(
                "bind.inUse",
                "The address %1 is in use by another socket: choose another port, or find its owner with ss -tulpn.",
                text)
        case (EACCES, .ip(_, let port)) where port < 1024:
            return Sentence(
                "bind.privileges",
                "Port %1 requires privileges: use 1024 or higher, or give the program CAP_NET_BIND_SERVICE.",
                String(port))
        case (EADDRNOTAVAIL, _):
            return Sentence("bind.notOurs", "No interface of this machine has the address %1.", text)
        case (ENOENT, .unix), (ENOTDIR, .unix):
            return Sentence("bind.noDirectory", "The directory for the socket %1 does not exist.", text)
        default:
            return Sentence("bind.failed", "The socket cannot be bound to %1: %2.", text, SystemCall.text(of: number))
        }
    }

    static func sendFailed(_ address: SocketAddress?, count: Int, _ number: Int32) -> Sentence {
        let text = address?.description ?? "the peer"
        switch number {
        case EMSGSIZE:
            return Sentence("send.tooLong", "A datagram of %1 bytes is too long for %2.", String(count), text)
        case ENOTCONN, EDESTADDRREQ:
            return Sentence(
                "send.noAddress", "The socket is not connected: connect it, or pass the address to send to.")
        case EACCES, EPERM:
            return Sentence(
                "send.forbidden",
                "Sending to %1 is not permitted; a broadcast address requires the option .allowsBroadcast.",
                text)
        default:
            return Sentence("send.failed", "Sending to %1 failed: %2.", text, SystemCall.text(of: number))
        }
    }

    static func optionFailed(_ name: String, _ number: Int32) -> Sentence {
        Sentence("option.failed", "The socket option %1 cannot be read or set: %2.", name, SystemCall.text(of: number))
    }

    static func noInterface(_ name: String) -> Sentence {
        Sentence("socket.noInterface", "This machine has no network interface named %1.", name)
    }
}
