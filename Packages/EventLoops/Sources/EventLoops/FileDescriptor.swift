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
public final class FileDescriptor: Sendable {
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
}
