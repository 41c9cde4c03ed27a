internal import EventLoops
internal import Glibc
internal import HostResolver

/// A socket that is connecting to one address: created, configured, and `connect` started without waiting.
package struct ConnectingSocket {
    /// The options of the socket.
    package struct Options: Sendable {
        let sendsAtOnce: Bool
        let keepsAlive: Bool
        let serviceType: NetworkServiceType?
        let localAddress: SocketAddress?

        package init(
            sendsAtOnce: Bool = true, keepsAlive: Bool = false, serviceType: NetworkServiceType? = nil,
            localAddress: SocketAddress? = nil
        ) {
            self.sendsAtOnce = sendsAtOnce
            self.keepsAlive = keepsAlive
            self.serviceType = serviceType
            self.localAddress = localAddress
        }
    }

    package let address: SocketAddress
    package let descriptor: CInt
    /// True if the socket is connected already, as Unix sockets are.
    package let isConnected: Bool

    package init(to address: SocketAddress, _ options: Options) throws(StreamError) {
        self.address = address
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw StreamError(posix: errno, .connectFailed(address.description, errno)) }
        do throws(StreamError) {
            try ConnectingSocket.apply(options, to: descriptor, family: address.family)
            isConnected = try ConnectingSocket.begin(descriptor, address)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Ends the attempt if it has an outcome. Returns whether the socket has connected; false while the attempt is in progress.
    ///
    /// Calls `connect` again: Linux answers EALREADY while the attempt is in progress, and then the outcome.
    /// Writability is no test, since a failed socket is writable, too.
    ///
    /// - Throws: the reason of the failure. Do not call it again then.
    package func tryConnect() throws(StreamError) -> Bool {
        if isConnected { return true }
        switch address.withSockAddr({ connect(descriptor, $0, $1) == 0 ? 0 : errno }) {
        case 0, EISCONN: return true
        case EALREADY, EINPROGRESS, EINTR: return false
        case let number: throw failure(number)
        }
    }

    /// The error for a failed attempt to connect to the address.
    package func failure(_ number: CInt) -> StreamError {
        StreamError(posix: number, .connectFailed(address.description, number))
    }

    /// Makes the socket blocking: from now on each call states for itself whether it may wait.
    package static func makeBlocking(_ descriptor: CInt) {
        // A new socket has no other status flags to keep.
        _ = fcntl(descriptor, F_SETFL, O_RDWR)
    }

    private static func begin(_ descriptor: CInt, _ address: SocketAddress) throws(StreamError) -> Bool {
        let number = address.withSockAddr { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        switch number {
        case 0: return true
        case EINPROGRESS, EINTR: return false
        // A Unix listener whose queue is full answers at once (EAGAIN). Only retrying can wait for room.
        default: throw StreamError(posix: number, .connectFailed(address.description, number))
        }
    }

    private static func apply(_ options: Options, to descriptor: CInt, family: CInt) throws(StreamError) {
        configure(descriptor, options, family: family)
        if let local = options.localAddress {
            // Connecting from another address than the requested one would reveal that address.
            guard local.family == family else {
                throw StreamError(posix: EAFNOSUPPORT, .otherFamily(local.description))
            }
            guard local.withSockAddr({ bind(descriptor, $0, $1) }) == 0 else {
                throw StreamError(
                    posix: errno, Sentence("bind.failed", "The local address %1 cannot be used.", local.description))
            }
        }
    }

    /// Sets the options that apply to any connection.
    package static func configure(_ descriptor: CInt, _ options: Options, family: CInt) {
        let isInternet = family == AF_INET || family == AF_INET6
        if isInternet, options.sendsAtOnce { set(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, 1) }
        if options.keepsAlive { set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1) }
        if let codePoint = options.serviceType?.differentiatedServicesCodePoint {
            if family == AF_INET { set(descriptor, CInt(IPPROTO_IP), IP_TOS, CInt(codePoint) << 2) }
            if family == AF_INET6 { set(descriptor, CInt(IPPROTO_IPV6), IPV6_TCLASS, CInt(codePoint) << 2) }
        }
    }

    private static func set(_ descriptor: CInt, _ level: CInt, _ option: CInt, _ value: CInt) {
        // Failures are ignored: the connection is usable without the option.
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }
}

extension Sentence {
    fileprivate static func otherFamily(_ local: String) -> Sentence {
        Sentence(
            "bind.otherFamily", "The local address %1 is of another address family than the remote address.", local)
    }
}
