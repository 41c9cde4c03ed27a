internal import Glibc

extension BlockingThreads {
    /// The maximum number of threads for calls on files.
    static let maximumFileThreads = 32

    /// The maximum number of threads for calls on the files of one device.
    static let maximumFileThreadsPerDevice = 8

    /// The longest wait for one call on a file, for users without a limit of their own: 60 s.
    @_spi(Packages) public static let fileTimeout = Duration.seconds(60)

    /// The threads for the file system of an open file.
    ///
    /// As ``files(at:)``, for the mount that the file was opened in. The disk is not asked.
    ///
    /// - Parameter descriptor: the descriptor of a file or a folder.
    @_spi(Packages) public static func files(of descriptor: CInt) -> BlockingThreads {
        deviceThreads.part(Mounts.present.device(of: descriptor))
    }

    /// The threads for the files at a path: those of the file system that is mounted there, or above it.
    ///
    /// ```swift
    /// let path = "/etc/hostname"
    /// let text = try await BlockingThreads.files(at: path).value { try? String(contentsOfFile: path, encoding: .utf8) }
    /// ```
    ///
    /// A disk may be slow, and a network file system may not answer at all. One device occupies at most 8 of
    /// the 32 threads, and the last 8 are only for devices that occupy none: a
    /// disk that hangs leaves threads for the others. All subvolumes of a disk are one device, and so are all file systems of one server
    /// (NFS, SMB). A call that no thread can take, because 4096 others wait for the same device, throws ``WaitError/busy``.
    ///
    /// A wait that ends early discards the result of the call: one that opens a file must therefore return an object that owns the
    /// descriptor, such as ``FileDescriptor``, and not the number.
    ///
    /// The device is that of the list of mounts (`/proc/self/mountinfo`), since looking at the path itself may hang. A symbolic link
    /// in the path is not followed, so the device is then the one of the link; without the list, it is one for all paths. The list is
    /// read on a thread of its own, at most once in five seconds, and the one before it is used meanwhile.
    ///
    /// - Parameter path: an absolute path, or one from the current folder. It need not exist.
    @_spi(Packages) public static func files(at path: String) -> BlockingThreads {
        deviceThreads.part(Mounts.present.device(at: path))
    }

    private static let deviceThreads = DeviceThreads(
        of: BlockingThreads(limit: maximumFileThreads, reserve: maximumFileThreadsPerDevice),
        limit: maximumFileThreadsPerDevice)
}

/// The parts of a pool for the devices.
final class DeviceThreads: Sendable {
    /// The maximum number of calls that wait for one device.
    private static let maximumWaitingCalls = 4096

    private struct Part {
        // A part is kept by its callers and by the calls that it makes.
        weak var threads: BlockingThreads?
    }

    private let pool: BlockingThreads
    private let limit: Int
    private let parts = Locked<[Mounts.Device: Part]>([:])

    init(of pool: BlockingThreads, limit: Int) {
        self.pool = pool
        self.limit = limit
    }

    func part(_ device: Mounts.Device) -> BlockingThreads {
        parts.withLock { parts in
            if let threads = parts[device]?.threads { return threads }
            parts = parts.filter { $0.value.threads != nil }
            let threads = BlockingThreads(partOf: pool, limit: limit, maximumQueueLength: Self.maximumWaitingCalls)
            parts[device] = Part(threads: threads)
            return threads
        }
    }

    // For tests.
    var count: Int { parts.withLock { $0.values.count { $0.threads != nil } } }
}
