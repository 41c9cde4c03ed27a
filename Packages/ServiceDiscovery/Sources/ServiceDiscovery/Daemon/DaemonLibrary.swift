internal import CServiceDaemon
package import DNSWire

/// The system's library for dns_sd.h, loaded at first use.
struct DaemonLibrary: Sendable {
    /// The library of this machine; nil if it is not installed.
    static let installed = DaemonLibrary()

    let functions: netkit_daemon

    /// A library with the given functions.
    init(_ functions: netkit_daemon) {
        self.functions = functions
    }

    private init?() {
        var functions = netkit_daemon()
        guard netkit_daemon_load(&functions) else { return nil }
        self.functions = functions
    }

    /// Whether it is Avahi's library, which supports no flags, no `DNSServiceReconfirmRecord`, and no domain other than
    /// `local`.
    var isAvahi: Bool { functions.is_avahi }

    /// Whether ``reconfirm(_:_:interface:)`` has an effect. Avahi's function only prints a message.
    var reconfirms: Bool { !isAvahi && functions.reconfirm != nil }

    /// Reports that a record may be stale; returns the daemon's error number.
    func reconfirm(_ key: RecordKey, _ data: [UInt8], interface: UInt32) -> Int32 {
        guard let reconfirm = functions.reconfirm else { return DaemonNumber.unsupported }
        return reconfirm(0, interface, key.name.description, key.type.rawValue, 1, UInt16(data.count), data)
    }
}

/// The constants of dns_sd.h.
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

    /// The error that a number stands for.
    static func error(_ number: Int32, name: String? = nil) -> ServiceDiscoveryError {
        switch number {
        case nameConflict: ServiceDiscoveryError(.collision, name: name)
        case badParameter, invalid:
            ServiceDiscoveryError(
                .badArgument, name: name, detail: "rejected by the discovery daemon's library",
                daemonNumber: Int(number))
        case timeout: ServiceDiscoveryError(.timedOut, name: name)
        case unsupported:
            ServiceDiscoveryError(.unsupported, name: name, detail: "the daemon's library lacks this function")
        // Avahi's library returns "unknown" if there is no bus, or no daemon on it.
        case unknown, notRunning: ServiceDiscoveryError(.daemonUnavailable, name: name)
        case refused:
            ServiceDiscoveryError(.limitReached, detail: "the daemon accepts no further operation of this process")
        default:
            ServiceDiscoveryError(
                .daemonFailed, name: name, detail: "error \(number) of dns_sd.h", daemonNumber: Int(number))
        }
    }
}

extension ServiceDiscoveryError {
    /// The same error with `name`, unless it already has a name.
    func about(_ name: String) -> ServiceDiscoveryError {
        ServiceDiscoveryError(
            code, name: self.name ?? name, detail: detail, domain: domain, number: number, daemonNumber: daemonNumber)
    }
}

extension DNSRecordData {
    /// Reads a record's data in the form of dns_sd.h: without a record header, names uncompressed. Nil if it is
    /// malformed.
    package init?(wire bytes: [UInt8], type: DNSRecordType) {
        guard let length = UInt16(exactly: bytes.count) else { return nil }
        // HostResolver parses whole messages, so the data is wrapped into a message with one record of the root.
        let header: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0]
        let record: [UInt8] = [
            0, UInt8(type.rawValue >> 8), UInt8(type.rawValue & 255), 0, 1, 0, 0, 0, 0, UInt8(length >> 8),
            UInt8(length & 255),
        ]
        guard let message = try? DNSMessage(wire: header + record + bytes), let first = message.answers.first else {
            return nil
        }
        self = first.data
    }
}
