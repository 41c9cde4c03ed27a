public import EventLoops
public import HostResolver

extension StreamPair {
    /// Makes a TCP connection to a port of a host: to its addresses if they have been looked up, otherwise by name.
    ///
    /// The host's present state is kept as ``StreamProperty/remoteHost``; later changes to the host have no effect.
    /// Replaces `CFStreamCreatePairWithSocketToCFHost`.
    public init(
        host: HostLookup, port: UInt16, properties: StreamProperties = StreamProperties(), loop: EventLoop = .shared
    ) {
        let host = host.copy()
        let name = host.names.value?.first
        if let addresses = host.addresses.value, !addresses.isEmpty || name == nil {
            let targets = addresses.compactMap(\.ipAddress).map { SocketAddress.ip($0, port: port) }
            self.init(addresses: targets, name: name, properties: properties, loop: loop)
        } else {
            self.init(host: name ?? "", port: port, properties: properties, loop: loop)
        }
        input.connection.details.withLock { $0.properties[.remoteHost] = host }
    }
}

extension StreamProperty where Value == HostLookup {
    /// The host that the pair was made with, in its state at that time; nil if the pair was made otherwise.
    ///
    /// Replaces `kCFStreamPropertySocketRemoteHost`.
    public static var remoteHost: Self { .init(setting: "StreamKit.remoteHost", access: .readOnly) }
}
