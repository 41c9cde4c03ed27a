internal import Foundation
internal import Glibc

/// A descriptor that becomes readable when a child process has ended. It does not reap the child.
///
/// It replaces `pidfd_open`, which the C library of older systems lacks: a thread waits for the child and then closes the other
/// end of a socket pair.
final class ProcessEnd: Sendable {
    let descriptor: Int32

    init(of pid: pid_t) {
        var pair: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
        descriptor = pair[0]
        Thread.detachNewThread { [other = pair[1]] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
            close(other)
        }
    }

    deinit { close(descriptor) }

    /// Blocks until the process has ended or the deadline `time` has passed.
    func wait(until time: ContinuousClock.Instant) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waiting, 1, time.milliseconds)
    }
}
