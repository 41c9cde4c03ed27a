internal import CServiceDaemon
internal import HostResolver

/// The system's library for dns_sd.h, loaded when it is first needed.
struct DaemonLibrary: Sendable {
    /// The one of this machine; nil if it is not installed.
    static let installed = DaemonLibrary()

    let functions: netkit_daemon

    /// A library with these functions.
    init(_ functions: netkit_daemon) {
        self.functions = functions
    }

    private init?() {
        var functions = netkit_daemon()
        guard netkit_daemon_load(&functions) else { return nil }
        self.functions = functions
    }

    /// Whether it is Avahi's: no option whatsoever is taken, and nothing is doubted, looked for outside of `local`, or
    /// limited to what Avahi does not know.
    var isPartial: Bool { functions.is_partial }

    /// Says that a record may be gone; the daemon's error number.
    func reconfirm(_ key: RecordKey, _ data: [UInt8]) -> Int32 {
        guard let reconfirm = functions.reconfirm else { return DaemonNumber.unsupported }
        return reconfirm(0, 0, key.name.description, key.type.rawValue, 1, UInt16(data.count), data)
    }
}
