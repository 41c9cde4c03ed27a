internal import Glibc

/// The threads for calls on files. A disk may be slow, and a network file system may not answer at all.
///
/// ```swift
/// let path = "/etc/hostname"
/// let text = try await BlockingThreads.files(at: path).value { try? String(contentsOfFile: path, encoding: .utf8) }
/// ```
///
/// One device occupies at most ``maximumFileThreadsPerDevice`` of the ``maximumFileThreads`` threads, so a disk that hangs leaves threads
/// for the others. A call that no thread can take, because 4096 others wait for the same device, throws ``WaitError/busy``.
///
/// A wait that ends early discards the result of the call: one that opens a file must therefore return an object that owns the
/// descriptor and closes it in its `deinit`, and not the number.
extension BlockingThreads {
    /// The maximum number of threads for calls on files.
    public static let maximumFileThreads = 32

    /// The maximum number of threads for calls on the files of one device.
    public static let maximumFileThreadsPerDevice = 8

    /// The longest wait for one call on a file, for users without a limit of their own: 60 s.
    public static let fileTimeout = Duration.seconds(60)

    /// The threads for the files of a device.
    ///
    /// - Parameter device: the number of the device, `st_dev` of `fstat(2)`.
    public static func files(onDevice device: UInt64) -> BlockingThreads { deviceThreads.part(device) }

    /// The threads for the files at a path: those of the device that is mounted there, or above it.
    ///
    /// The device is that of the list of mounts (`/proc/self/mountinfo`), since looking at the path itself may hang. A symbolic link
    /// in the path is not followed, so the device is then the one of the link; without the list, it is one for all paths.
    ///
    /// - Parameter path: an absolute path, or one from the current folder. It need not exist.
    public static func files(at path: String) -> BlockingThreads { files(onDevice: Mounts.device(of: path)) }

    /// Closes a descriptor on one of the threads: closing a file can wait for its disk, too. Without a thread, the descriptor is closed on
    /// the shared event loop.
    public func close(_ descriptor: CInt) {
        run(
            Work {
                Glibc.close(descriptor)
            } refuse: { _ in
                Glibc.close(descriptor)
            })
    }

    private static let deviceThreads = DeviceThreads(
        of: BlockingThreads(limit: maximumFileThreads, queueLimit: 4096), limit: maximumFileThreadsPerDevice)
}

/// The parts of a pool for the devices.
final class DeviceThreads: Sendable {
    /// The number of parts from which idle ones are dropped.
    private static let manyParts = 64

    private let pool: BlockingThreads
    private let limit: Int
    private let parts = Locked<[UInt64: BlockingThreads]>([:])

    init(of pool: BlockingThreads, limit: Int) {
        self.pool = pool
        self.limit = limit
    }

    func part(_ device: UInt64) -> BlockingThreads {
        parts.withLock { parts in
            if let part = parts[device] { return part }
            // An idle part that a caller still holds keeps working, and its device gets another one.
            if parts.count >= Self.manyParts { parts = parts.filter { $0.value.threadCount > 0 } }
            let part = BlockingThreads(partOf: pool, limit: limit, queueLimit: 4096)
            parts[device] = part
            return part
        }
    }

    // For tests.
    var count: Int { parts.withLock { $0.count } }
}
