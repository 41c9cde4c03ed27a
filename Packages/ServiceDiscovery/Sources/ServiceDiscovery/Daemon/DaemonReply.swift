internal import HostResolver

/// What the daemon has said of one operation.
enum DaemonReply: Sendable {
    /// A record came, or went.
    case record(DNSRecordData, interface: UInt32, isAdded: Bool)
    /// The service is visible under this name.
    case registered(name: String)
    /// The operation is over.
    case failed(ServiceDiscoveryError)

    var isFailure: Bool { if case .failed = self { true } else { false } }
}
