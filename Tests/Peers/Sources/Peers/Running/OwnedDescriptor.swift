internal import Glibc

/// A file descriptor that is closed when the last reference to it is released.
///
/// A server and its threads share one. Its number cannot be reused for another file while one of them may still pass it to a
/// call.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
