internal import Glibc

/// Waits for changes in a folder (inotify(7)), so that no caller needs to poll it.
struct FolderWatch: ~Copyable {
    private let descriptor: Int32

    /// Watches for changes from now on.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the folder does not exist, or the user has reached the kernel's limit of watches.
    init(_ path: String) throws(PeerError) {
        let descriptor = inotify_init1(O_CLOEXEC)
        guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE)) >= 0 else {
            let words = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw PeerError(.refused, "cannot watch \(path): \(words)")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Blocks until a change, the end of `process`, or the deadline `end`. Several changes may be reported as one.
    func wait(orFor process: ProcessEnd? = nil, until end: ContinuousClock.Instant) {
        var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        if let process { waiting.append(pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)) }
        poll(&waiting, nfds_t(waiting.count), end.milliseconds)
        guard waiting[0].revents != 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { _ = read(descriptor, $0.baseAddress, $0.count) }
    }
}

extension ContinuousClock.Instant {
    /// The milliseconds from now until this instant, as `poll` expects them: rounded up, so that it does not wake too early.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = (self - .now).components
        return Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
    }
}
