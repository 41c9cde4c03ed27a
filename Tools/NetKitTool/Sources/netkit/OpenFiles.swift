import Glibc

/// The files that this process can open.
enum OpenFiles {
    /// The files that a verb needs besides those that are open: two event loops, the threads that receive signals, and some sockets.
    static let needed = 24

    /// Fails if the limit of open files leaves fewer than ``needed``.
    ///
    /// Checked before a verb runs, not where a file is opened: `EventLoop.shared` is a constant that everything uses, and Dispatch
    /// creates its queue at any time. Neither can throw, and both trap without descriptors.
    static func check() throws(Exhausted) {
        var opened: [CInt] = []
        defer { for descriptor in opened { close(descriptor) } }
        while opened.count < needed {
            let descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { throw Exhausted(left: opened.count) }
            opened.append(descriptor)
        }
    }

    /// Too few files can be opened.
    struct Exhausted: Error, CustomStringConvertible {
        /// The number of files that can still be opened.
        var left: Int

        var description: String {
            "Only \(left) more files can be open at the same time, and netkit needs \(OpenFiles.needed). Raise the limit, such as "
                + "with: ulimit -n 256"
        }
    }
}
