internal import Glibc

/// Writes to a pipe without raising SIGPIPE.
///
/// Theory of operation. If a pipe has no reader, `write(2)` fails with EPIPE and raises SIGPIPE, which ends the
/// process; no flag of the call prevents that. The signal goes to the writing thread. It is therefore blocked in that
/// thread during the call and consumed afterwards. A signal that was pending before has another origin and stays
/// pending.
enum PipeSignal {
    /// Runs a call that writes to a pipe; returns its result and `errno`.
    static func blocked(_ call: () -> Int) -> (count: Int, number: CInt) {
        var signal = sigset_t()
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        var pending = sigset_t()
        sigpending(&pending)
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signal, &mask)
        let count = call()
        let number = count < 0 ? errno : 0
        if number == EPIPE, sigismember(&pending, SIGPIPE) == 0 {
            var now = timespec()
            while sigtimedwait(&signal, nil, &now) < 0, errno == EINTR {}
        }
        pthread_sigmask(SIG_SETMASK, &mask, nil)
        return (count, number)
    }
}
