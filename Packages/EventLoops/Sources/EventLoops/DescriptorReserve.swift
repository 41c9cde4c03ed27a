internal import CEventLoops
internal import Glibc

/// The file descriptors of the process that servers leave free.
///
/// A process that has used up its descriptors (`RLIMIT_NOFILE`, `ulimit -n`) fails in places that have no error to report: the
/// threads of the Swift runtime, for example, end it if they cannot open a file. Peers decide how many connections a server has, so
/// a server stops accepting once a connection has a descriptor of the reserve, and opens no file for a client with one.
///
/// ```swift
/// let file = open(path, O_RDONLY | O_CLOEXEC)
/// if DescriptorReserve.contains(file) {
///     close(file)
///     throw ServiceUnavailable()
/// }
/// ```
@_spi(Packages) public enum DescriptorReserve {
    /// The maximum number of descriptors in reserve.
    public static let maximumCount = 64

    /// The number of descriptors that the process may have. It can change while the process runs.
    public static var processLimit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of descriptors below the reserve: all but ``maximumCount``, or three quarters of a small number.
    ///
    /// - Parameter limit: the number of descriptors that the process may have.
    public static func unreservedCount(of limit: Int = processLimit) -> Int {
        limit - min(maximumCount, limit / 4)
    }

    /// Whether a descriptor that was just opened belongs to the reserve. The system always chooses the lowest free number, so all
    /// numbers below it are in use.
    public static func contains(_ descriptor: CInt) -> Bool {
        Int(descriptor) >= unreservedCount()
    }

    /// Whether no descriptor is free but those of the reserve.
    public static var isTouched: Bool {
        // A new descriptor, not a copy of one that the program may have closed.
        let probe = eventfd(0, CInt(EFD_CLOEXEC))
        guard probe >= 0 else { return errno == EMFILE }
        defer { close(probe) }
        return contains(probe)
    }
}
