internal import Glibc

/// A descriptor that is closed when the last reference to it goes away.
///
/// A server and its threads share one. As long as one of them may still name it in a call, its number cannot be given
/// to a stranger.
final class OwnedDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        close(number)
    }
}
