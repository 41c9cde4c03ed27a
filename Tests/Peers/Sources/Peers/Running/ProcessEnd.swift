internal import Foundation
internal import Glibc

/// A descriptor that hangs up when a child of ours has ended. It is not reaped by this.
///
/// What `pidfd_open` gives, which the C library of older systems lacks: here a thread waits in the kernel, and then lets go of the
/// other end of a socket pair.
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

    /// Blocks until it has ended, or the time has come.
    func wait(until time: ContinuousClock.Instant) {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waiting, 1, time.milliseconds)
    }
}
