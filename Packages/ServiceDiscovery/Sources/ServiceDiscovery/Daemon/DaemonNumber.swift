/// The numbers of dns_sd.h.
enum DaemonNumber {
    static let add: UInt32 = 0x2
    static let noAutoRename: UInt32 = 0x8

    static let unknown: Int32 = -65_537
    static let badParameter: Int32 = -65_540
    static let unsupported: Int32 = -65_544
    static let nameConflict: Int32 = -65_548
    static let invalid: Int32 = -65_549
    static let refused: Int32 = -65_553
    static let notRunning: Int32 = -65_563
    static let timeout: Int32 = -65_568

    /// What a number means to our caller.
    static func error(_ number: Int32, name: String? = nil) -> ServiceDiscoveryError {
        switch number {
        case nameConflict: ServiceDiscoveryError(.collision, name: name)
        case badParameter, invalid:
            ServiceDiscoveryError(.badArgument, name: name, detail: "rejected by the discovery daemon's library")
        case timeout: ServiceDiscoveryError(.timedOut, name: name)
        case unsupported:
            ServiceDiscoveryError(.unsupported, name: name, detail: "the daemon's library lacks this function")
        // Avahi's library says "unknown" where there is no bus, or no daemon on it.
        case unknown, notRunning: ServiceDiscoveryError(.daemonUnavailable, name: name)
        case refused: ServiceDiscoveryError(.tooMuch, detail: "the daemon accepts no further operation of this process")
        default:
            ServiceDiscoveryError(
                .daemonFailed, name: name, detail: "error \(number) of dns_sd.h", daemonNumber: Int(number))
        }
    }
}

extension ServiceDiscoveryError {
    /// The same error, about `name` if it names nothing yet.
    func about(_ name: String) -> ServiceDiscoveryError {
        ServiceDiscoveryError(
            code, name: self.name ?? name, detail: detail, domain: domain, number: number, daemonNumber: daemonNumber)
    }
}
