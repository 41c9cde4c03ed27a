internal import Glibc

/// Opens the sockets of both families. A machine may lack one of them; what passes, such as a lack of descriptors, is a failure.
enum SocketOpening {
    /// How often a port is tried that another program has for itself, and the pause before the next time. Some programs, such as
    /// Avahi's daemon, have it for a moment to learn whether it is free.
    static let attempts = 10
    static let pauseInMicroseconds: UInt32 = 10_000

    /// - Throws: the error of a family, unless the machine lacks that family and has the other one.
    static func sockets<Socket>(
        of families: [CInt], pause: () -> Void = { usleep(pauseInMicroseconds) },
        _ open: (CInt) throws(ServiceDiscoveryError) -> Socket
    ) throws(ServiceDiscoveryError) -> [Socket] {
        var sockets: [Socket] = []
        var missing: ServiceDiscoveryError?
        for family in families {
            do throws(ServiceDiscoveryError) {
                sockets.append(try socket(family, pause, open))
            } catch {
                if error.isScarcity || error.isInUse { throw error }
                missing = error
            }
        }
        if let missing, sockets.isEmpty { throw missing }
        return sockets
    }

    private static func socket<Socket>(
        _ family: CInt, _ pause: () -> Void, _ open: (CInt) throws(ServiceDiscoveryError) -> Socket
    ) throws(ServiceDiscoveryError) -> Socket {
        for _ in 1..<attempts {
            do throws(ServiceDiscoveryError) {
                return try open(family)
            } catch {
                guard error.isInUse else { throw error }
                pause()
            }
        }
        return try open(family)
    }
}

extension ServiceDiscoveryError {
    /// Whether another program has the port, and does not share it.
    fileprivate var isInUse: Bool { code == .system && number == Int(EADDRINUSE) }
}
