internal import EventLoops
internal import Glibc

/// Watches files with inotify(7), on an event loop, and reports when one of them may have changed.
///
/// The directories are watched, not the files: an editor replaces a file, and a missing one may be created. So are the directories above, of
/// which one may be created, removed or moved. A file that is a symbolic link is watched at both places.
///
/// The paths are walked on a thread for files, since a disk may not answer. Until it does, no change is reported.
final class FilesWatch: Sendable {
    private struct State {
        /// The names to look for, by the number of the watch of their directory.
        var names: [CInt: Set<String>] = [:]
    }

    private let paths: [String]
    private let threads: BlockingThreads
    private let point: WaitPoint
    private let state = Locked(State())

    /// Starts to watch. The calling thread waits for the disks of the paths.
    ///
    /// - Parameters:
    ///   - paths: absolute paths, whose files need not exist.
    ///   - threads: the threads that walk the paths after a change.
    ///   - report: called on an event loop after each change.
    /// - Throws: the status of a failure, if the process has no descriptor left.
    init(
        _ paths: [String], threads: BlockingThreads = .files(at: "/"), _ report: @escaping @Sendable () -> Void
    ) throws(Status) {
        self.paths = paths
        self.threads = threads
        let descriptor = inotify_init1(O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .failed }
        point = WaitPoint(descriptor: descriptor, ownership: .owned)
        arm()
        // The task holds the watch weakly between events: releasing the watch ends the task.
        Task(executorPreference: EventLoop.shared) { [weak self, point] in
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            repeat {
                guard let self else { return }
                if self.readEvents() {
                    // A directory may have appeared or gone. Without a thread, the next change shows it.
                    try? await self.threads.value { self.arm() }
                    report()
                }
            } while await point.readerWait(for: .readable, until: nil) == .ready
        }
    }

    deinit { point.close() }

    /// Watches the existing directories of each path. A directory that is watched already keeps its watch; one that is no longer at its place
    /// loses it. Walking the paths may wait for a disk: not on an event loop.
    private func arm() {
        let presence = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_MASK_ADD
        let content = IN_CLOSE_WRITE | IN_ATTRIB
        let places = paths.flatMap { path in
            [path, FilesWatch.resolved(path)].map { $0.unicodeScalars.split(separator: "/").map { String($0) } }
        }
        state.withLock { state in
            var names: [CInt: Set<String>] = [:]
            for path in places {
                for depth in path.indices {
                    let folder = "/" + path[..<depth].joined(separator: "/")
                    let mask = depth == path.count - 1 ? presence | content : presence
                    let watch = inotify_add_watch(point.descriptor, folder, UInt32(mask))
                    if watch >= 0 { names[watch, default: []].insert(path[depth]) }
                }
            }
            for watch in state.names.keys where names[watch] == nil { inotify_rm_watch(point.descriptor, watch) }
            state.names = names
        }
    }

    /// The path without symbolic links; the path itself if there is no such file.
    private static func resolved(_ path: String) -> String {
        guard let bytes = realpath(path, nil) else { return path }
        defer { free(bytes) }
        return String(cString: bytes)
    }

    /// Reads all events that have arrived. Returns whether one of them is about a path, or events were lost.
    private func readEvents() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        var hasChanged = false
        while true {
            let count = SystemCall.retrying { read(point.descriptor, &buffer, buffer.count) }
            guard count > 0 else { break }
            for event in InotifyEvent.events(in: buffer[..<count]) where isRelevant(event) { hasChanged = true }
        }
        return hasChanged
    }

    private func isRelevant(_ event: InotifyEvent) -> Bool {
        state.withLock { state in
            if event.mask & UInt32(IN_IGNORED) != 0 { return state.names.removeValue(forKey: event.watch) != nil }
            return event.mask & UInt32(IN_Q_OVERFLOW) != 0 || state.names[event.watch]?.contains(event.name) ?? false
        }
    }
}

/// An event of the kernel about a directory: struct inotify_event of inotify(7).
struct InotifyEvent: Equatable {
    private static let headerSize = 16

    let watch: CInt
    let mask: UInt32
    let name: String

    /// The events in what was read; an incomplete one at the end is left out.
    static func events(in bytes: ArraySlice<UInt8>) -> [InotifyEvent] {
        var events: [InotifyEvent] = []
        var rest = bytes
        while rest.count >= headerSize {
            let fields = rest.prefix(headerSize).withUnsafeBytes { bytes in
                (0..<4).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
            }
            let size = headerSize + Int(min(fields[3], 4096))
            guard rest.count >= size else { break }
            let name = rest.prefix(size).dropFirst(headerSize).prefix { $0 != 0 }
            events.append(
                InotifyEvent(
                    watch: CInt(bitPattern: fields[0]), mask: fields[1], name: String(decoding: name, as: UTF8.self)))
            rest = rest.dropFirst(size)
        }
        return events
    }
}
