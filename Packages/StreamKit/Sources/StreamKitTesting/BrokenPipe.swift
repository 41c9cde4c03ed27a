internal import Glibc
internal import StreamKit

extension StreamError {
    /// The error of a write without a reader.
    static let brokenPipe = StreamError(posix: EPIPE)
}
