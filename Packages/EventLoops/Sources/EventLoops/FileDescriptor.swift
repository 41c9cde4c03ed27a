internal import Glibc

/// The owner of the descriptor of a file or a folder, which is closed when the last reference is gone.
///
/// ```swift
/// let number = open("/etc/hostname", O_RDONLY | O_CLOEXEC)
/// let file = number < 0 ? nil : FileDescriptor(number)
/// ```
///
/// Closing a file may wait for its disk: a network file system first sends what has been written. Where the last reference goes away in a
/// task or on the thread of an event loop, one of the threads for files closes the descriptor. Elsewhere it is closed at once: a program
/// that closes a stream or a file expects its descriptor back.
@_spi(Packages) public final class FileDescriptor: Sendable {
    /// The number, for calls of the system while this object exists.
    public let number: CInt
    /// The threads for calls on the file.
    public let threads: BlockingThreads

    /// Takes over a descriptor.
    ///
    /// - Parameters:
    ///   - number: The number of an open file.
    ///   - threads: The threads for calls on the file; nil for those of its device, ``BlockingThreads/files(of:)``.
    public init(_ number: CInt, threads: BlockingThreads? = nil) {
        self.number = number
        self.threads = threads ?? .files(of: number)
    }

    deinit { threads.release { [number] in Glibc.close(number) } }

    /// Closes a descriptor of any kind: as that of a file if its end may have to be waited for, such as a terminal that first sends its
    /// output, and otherwise at once.
    static func close(_ number: CInt) {
        var status = stat()
        let isFile =
            switch fstat(number, &status) == 0 ? status.st_mode & S_IFMT : 0 {
            // Event descriptors and the like have no kind.
            case S_IFSOCK, 0: false
            default: true
            }
        if isFile { _ = FileDescriptor(number) } else { Glibc.close(number) }
    }
}
