internal import EventLoops
internal import Glibc

/// Watches files with inotify(7), on an event loop, and reports when one of them may have changed.
///
/// The directories are watched, not the files: an editor replaces a file, and a missing one may be created. So are the directories above, of
/// which one may be created, removed or moved, and those where symbolic links lead to, also if there is nothing yet.
///
/// The paths are walked on a thread for files, since a disk may not answer. Until it does, no change is reported.
final class FilesWatch: Sendable {
    private struct State {
        /// The names to look for, by the number of the watch of their directory.
        var names: [CInt: Set<String>] = [:]
    }

    /// The links of a path that are followed, as by the kernel (path_resolution(7)).
    private static let maximumLinks = 40

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

    /// Watches the existing directories of each path. A directory that is watched already keeps its watch; one that is no longer on the way loses
    /// it. Walking the paths may wait for a disk: not on an event loop.
    private func arm() {
        state.withLock { state in
            var names: [CInt: Set<String>] = [:]
            for path in paths { addWatches(on: path, &names) }
            for watch in state.names.keys where names[watch] == nil { inotify_rm_watch(point.descriptor, watch) }
            state.names = names
        }
    }

    /// Watches each directory on the way to a file for the name that comes next there. A link is read once its directory is watched, so that no
    /// change of it is missed.
    private func addWatches(on path: String, _ names: inout [CInt: Set<String>]) {
        let presence = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_MASK_ADD
        let content = IN_CLOSE_WRITE | IN_ATTRIB
        var (rest, folder): ([String], [String]) = (FilesWatch.components(path).reversed(), [])
        var links = 0
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                _ = folder.popLast()
                continue
            }
            let place = "/" + folder.joined(separator: "/")
            let watch = inotify_add_watch(point.descriptor, place, UInt32(rest.isEmpty ? presence | content : presence))
            if watch >= 0 { names[watch, default: []].insert(name) }
            folder.append(name)
            guard let target = FilesWatch.target(of: "/" + folder.joined(separator: "/")) else { continue }
            links += 1
            if links > FilesWatch.maximumLinks { return }
            if target.utf8.first == UInt8(ascii: "/") { folder = [] } else { folder.removeLast() }
            rest += FilesWatch.components(target).reversed()
        }
    }

    private static func components(_ path: String) -> [String] {
        path.unicodeScalars.split(separator: "/").map { String($0) }
    }

    /// Where a symbolic link leads to; nil for anything else.
    private static func target(of path: String) -> String? {
        withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(path, start, buffer.count)
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
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
