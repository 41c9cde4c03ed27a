internal import EventLoops
internal import Glibc

/// Waits for changes of one file with inotify(7), on an event loop.
///
/// The directory is watched, not the file: an editor replaces the old file with a new one, and a missing file may be
/// created. A change is a file closed after writing, moved to or from the path, or removed. Single writes are ignored,
/// so that a half-written file is not read.
final class FileWatch: Sendable {
    private let point: WaitPoint
    private let name: [UInt8]

    /// Starts to watch.
    ///
    /// - Throws: an `errno` if the directory does not exist, or the system has no more watches.
    init(path: String) throws(StreamError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: true)
        let folder = (path.hasPrefix("/") ? "/" : "./") + parts.dropLast().joined(separator: "/")
        name = Array((parts.last.map(String.init) ?? "").utf8)
        guard !name.isEmpty else { throw StreamError(posix: EINVAL) }
        let descriptor = inotify_init1(O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw StreamError(posix: errno) }
        point = WaitPoint(descriptor: descriptor, ownership: .owned)
        let mask = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR)
        guard inotify_add_watch(descriptor, folder, mask) >= 0 else {
            let failure = errno
            point.close()
            throw StreamError(posix: failure, .fileNotOpened(folder, failure))
        }
    }

    deinit { close() }

    /// Ends ``next()``.
    func close() {
        point.close()
    }

    /// Waits for the next change. Returns false at the end.
    nonisolated(nonsending) func next() async -> Bool {
        guard point.enter(.reader) == .entered else { return false }
        defer { point.leave(.reader) }
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while !point.isClosed(.reader) {
            let count = read(point.descriptor, &buffer, buffer.count)
            if count > 0 {
                if containsChange(buffer[..<count]) { return true }
            } else if count < 0, errno == EAGAIN {
                guard await point.readerWait(for: .readable, until: nil) == .ready else { return false }
            } else if count < 0, errno == EINTR {
                continue
            } else {
                return false
            }
        }
        return false
    }

    /// Whether one of the events is about the file, or events were lost (IN_Q_OVERFLOW).
    ///
    /// struct inotify_event: watch, mask and cookie of 4 bytes each, the length of the name, the name followed by NULs.
    private func containsChange(_ events: ArraySlice<UInt8>) -> Bool {
        var rest = events
        var hasChanged = false
        while rest.count >= 16 {
            func number(_ offset: Int) -> UInt32 {
                rest[rest.startIndex + offset..<rest.startIndex + offset + 4].reversed().reduce(0) {
                    $0 << 8 | UInt32($1)
                }
            }
            let length = Int(min(number(12), 4096))
            guard rest.count >= 16 + length else { break }
            let name = rest[rest.startIndex + 16..<rest.startIndex + 16 + length].prefix { $0 != 0 }
            if name.elementsEqual(self.name) || number(4) & UInt32(IN_Q_OVERFLOW) != 0 { hasChanged = true }
            rest = rest.dropFirst(16 + length)
        }
        return hasChanged
    }
}
