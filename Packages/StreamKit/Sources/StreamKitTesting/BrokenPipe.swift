internal import Glibc
internal import StreamKit

extension StreamError {
    /// The reader has gone.
    static let brokenPipe = StreamError(posix: EPIPE)
}
