internal import Glibc

/// Notices what is written, made or removed in a folder, so that nobody has to look again and again.
struct FolderWatch: ~Copyable {
    private let descriptor: Int32

    /// Notices changes from here on.
    ///
    /// - Throws: ``PeerError/Code/refused`` if the folder is not there, or the kernel has no more watches for this user.
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

    /// Blocks until there was a change, `process` has ended, or the time has come; several changes may be one.
    func wait(orFor process: ProcessEnd? = nil, until end: ContinuousClock.Instant) {
        var waiting = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        if let process { waiting.append(pollfd(fd: process.descriptor, events: Int16(POLLIN), revents: 0)) }
        poll(&waiting, nfds_t(waiting.count), end.milliseconds)
        guard waiting[0].revents != 0 else { return }
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { _ = read(descriptor, $0.baseAddress, $0.count) }
    }
}

extension ContinuousClock.Instant {
    /// How long it is until then, as `poll` wants it: rounded up, so that it does not wake too early.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = (self - .now).components
        return Int32(clamping: max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1))
    }
}
