internal import EventLoops
internal import Glibc
internal import HostResolver

/// A socket on its way to one address: made, configured, `connect` begun without waiting.
struct ConnectingSocket {
    /// What the connection asks of its socket.
    struct Options: Sendable {
        var sendsAtOnce = true
        var keepsAlive = false
        var serviceType: NetworkServiceType?
        var localAddress: SocketAddress?
    }

    let address: SocketAddress
    let descriptor: CInt
    /// True if there is nothing to wait for: it is connected already, as Unix sockets are.
    let isConnected: Bool

    init(to address: SocketAddress, _ options: Options) throws(StreamError) {
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

    /// What has become of it: false while it is on its way.
    ///
    /// Asks by connecting again, which Linux answers with EALREADY until it has connected or failed, and then with the
    /// outcome. Being writable tells nothing, since a socket that failed is so too.
    ///
    /// - Throws: why it failed; do not ask again.
    func hasConnected() throws(StreamError) -> Bool {
        if isConnected { return true }
        switch address.withSockAddr({ connect(descriptor, $0, $1) == 0 ? 0 : errno }) {
        case 0, EISCONN: return true
        case EALREADY, EINPROGRESS, EINTR: return false
        case let number: throw failure(number)
        }
    }

    /// That connecting to the address failed.
    func failure(_ number: CInt) -> StreamError {
        StreamError(posix: number, .connectFailed(address.description, number))
    }

    /// From here on each call says for itself whether it may wait.
    static func makeBlocking(_ descriptor: CInt) {
        // A new socket has no other status flags to keep.
        _ = fcntl(descriptor, F_SETFL, O_RDWR)
    }

    private static func begin(_ descriptor: CInt, _ address: SocketAddress) throws(StreamError) -> Bool {
        let number = address.withSockAddr { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        switch number {
        case 0: return true
        case EINPROGRESS, EINTR: return false
        // A Unix listener whose queue is full answers at once; there is no way to wait for room but to try again.
        default: throw StreamError(posix: number, .connectFailed(address.description, number))
        }
    }

    private static func apply(_ options: Options, to descriptor: CInt, family: CInt) throws(StreamError) {
        configure(descriptor, options, family: family)
        if let local = options.localAddress {
            // Connecting from another address than was asked for would reveal it.
            guard local.family == family else {
                throw StreamError(posix: EAFNOSUPPORT, .otherFamily(local.description))
            }
            guard local.withSockAddr({ bind(descriptor, $0, $1) }) == 0 else {
                throw StreamError(
                    posix: errno, Sentence("bind.failed", "The own address %1 cannot be used.", local.description))
            }
        }
    }

    /// Sets what can be set of any connection.
    static func configure(_ descriptor: CInt, _ options: Options, family: CInt) {
        let isInternet = family == AF_INET || family == AF_INET6
        if isInternet, options.sendsAtOnce { set(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, 1) }
        if options.keepsAlive { set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1) }
        if let codePoint = options.serviceType?.differentiatedServicesCodePoint {
            if family == AF_INET { set(descriptor, CInt(IPPROTO_IP), IP_TOS, CInt(codePoint) << 2) }
            if family == AF_INET6 { set(descriptor, CInt(IPPROTO_IPV6), IPV6_TCLASS, CInt(codePoint) << 2) }
        }
    }

    private static func set(_ descriptor: CInt, _ level: CInt, _ option: CInt, _ value: CInt) {
        // Each is a wish: a connection without it still is what was asked for.
        var value = value
        _ = setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
    }
}

extension Sentence {
    fileprivate static func otherFamily(_ local: String) -> Sentence {
        Sentence(
            "bind.otherFamily", "The address cannot be connected to from %1, which is of another family.", local)
    }
}
