internal import CMulticast
internal import EventLoops
internal import Glibc

/// Opens the sockets of both families. A machine may lack one of them; what passes, such as a lack of descriptors, is a failure.
enum SocketOpening {
    /// How often a port is tried that another program has for itself, and the pause before the next time. Some programs, such as
    /// Avahi's daemon, have it for a moment to learn whether it is free.
    static let attempts = 10
    static let pauseInMicroseconds: UInt32 = 10_000

    /// - Returns: the sockets of the families that can be used, and the families whose port another program keeps for itself.
    /// - Throws: the error if resources are lacking, or no family can be used.
    static func sockets<Socket>(
        of families: [CInt], pause: () -> Void = { usleep(pauseInMicroseconds) },
        _ open: (CInt) throws(ServiceDiscoveryError) -> Socket
    ) throws(ServiceDiscoveryError) -> (sockets: [Socket], inUse: [CInt]) {
        var sockets: [Socket] = []
        var inUse: [CInt] = []
        var failure: ServiceDiscoveryError?
        for family in families {
            do throws(ServiceDiscoveryError) {
                sockets.append(try socket(family, pause, open))
            } catch {
                if error.isScarcity { throw error }
                // Of two errors, this one says what can be done.
                if failure == nil || error.isInUse { failure = error }
                if error.isInUse { inUse.append(family) }
            }
        }
        if let failure, sockets.isEmpty { throw failure }
        return (sockets, inUse)
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

/// Says in the system's log, once for each family, that another program keeps the port for itself.
struct PortWarnings {
    private var families: Set<CInt> = []

    /// The warning about families, to be logged now; nil if they have been warned of.
    mutating func warning(of inUse: [CInt]) -> String? {
        let new = inUse.filter { families.insert($0).inserted }
        if new.isEmpty { return nil }
        let names = new.map { $0 == AF_INET ? "IPv4" : "IPv6" }.joined(separator: " and ")
        return """
            another program keeps UDP port \(MulticastRules.port) of \(names); services are found and published without it
            """
    }

    private static let ofThisProcess = Locked(PortWarnings())

    static func log(_ inUse: [CInt]) {
        guard let warning = ofThisProcess.withLock({ $0.warning(of: inUse) }) else { return }
        netkit_multicast_warn(warning)
    }
}
