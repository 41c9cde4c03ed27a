internal import Glibc

/// Writing to a pipe without the signal.
///
/// Theory of operation. A pipe whose reader has gone answers `write(2)` with EPIPE and with SIGPIPE, which ends the program
/// and which no flag of the call prevents. The signal goes to the writing thread, so it is blocked there during the call
/// and fetched afterwards; one that was pending before is somebody else's and stays.
enum PipeSignal {
    /// Runs a call that writes to a pipe; gives its result and `errno`.
    static func withheld(_ call: () -> Int) -> (count: Int, number: CInt) {
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
