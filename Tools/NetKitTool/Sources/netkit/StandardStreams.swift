import Glibc

/// The descriptors 0, 1 and 2, of which a caller may have closed some (`netkit get URL >&-`).
enum StandardStreams {
    /// Opens the closed ones, so that no other file of this program gets their numbers and the data meant for them. They fail as
    /// closed ones do: reading from standard input and writing to the others is `EBADF`.
    static func open() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one.
            _ = Glibc.open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
