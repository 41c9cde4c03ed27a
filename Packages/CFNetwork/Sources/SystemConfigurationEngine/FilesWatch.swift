internal import EventLoops
internal import Glibc

/// Watches files with inotify(7), on an event loop, and reports when one of them may have changed.
///
/// The directories are watched, not the files: an editor replaces a file, and a missing one may be created. So are the directories above, of
/// which one may be created, removed or moved, and those where symbolic links lead to, also if there is nothing yet.
///
/// Each path is walked by itself, on a thread for files, since a disk may not answer: the change of a path is reported once it has been walked
/// again, whatever the disks of the other paths do.
final class FilesWatch: Sendable {
    private struct Place {
        /// The names to look for, by the number of the watch of their directory.
        var names: [CInt: Set<String>] = [:]
        /// Whether a thread walks the path, or will.
        var isWalked = false
        /// Whether events have arrived meanwhile, of directories that the walk may have found or missed.
        var isOutdated = false
    }

    private struct State {
        /// In the order of the paths.
        var places: [Place]
        /// All watches of the kernel.
        var watches: Set<CInt> = []
    }

    /// The links of a path that are followed, as by the kernel (path_resolution(7)).
    private static let maximumLinks = 40

    private let paths: [String]
    private let threads: @Sendable (_ path: String) -> BlockingThreads
    private let report: @Sendable () -> Void
    private let point: WaitPoint
    private let state: Locked<State>

    /// Starts to watch. The calling thread waits for the disks of the paths, for 60 s at most.
    ///
    /// - Parameters:
    ///   - paths: absolute paths, whose files need not exist.
    ///   - threads: the threads that walk a path.
    ///   - report: called on an event loop after each change.
    /// - Throws: the status of a failure, if the process has no descriptor left.
    init(
        _ paths: [String], threads: @escaping @Sendable (_ path: String) -> BlockingThreads = { .files(at: $0) },
        _ report: @escaping @Sendable () -> Void
    ) throws(Status) {
        self.paths = paths
        self.threads = threads
        self.report = report
        state = Locked(State(places: paths.map { _ in Place() }))
        let descriptor = inotify_init1(O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .failed }
        point = WaitPoint(descriptor: descriptor, ownership: .owned)
        let walks = paths.indices.map { index in
            let isOver = OneShot<Void>()
            walk(index) { isOver.provide(()) }
            return isOver
        }
        let deadline = Moment.now + BlockingThreads.fileTimeout
        for walk in walks {
            // A path whose disk has not answered is watched once it does.
            do throws(WaitError) { try walk.value(until: deadline) } catch {}
        }
        // The task holds the watch weakly between events: releasing the watch ends the task.
        Task(executorPreference: EventLoop.shared) { [weak self, point] in
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            repeat {
                guard let self else { return }
                for index in self.readEvents() { self.walk(index, then: self.reportOnLoop) }
            } while await point.readerWait(for: .readable, until: nil) == .ready
        }
    }

    deinit { point.close() }

    private func reportOnLoop() { EventLoop.shared.execute(report) }

    // MARK: Walks

    /// Walks a path, since a directory may have appeared or gone, and calls `completion`. If a thread does so already, it does so again
    /// afterwards, and a change is reported.
    private func walk(_ index: Int, then completion: @escaping @Sendable () -> Void) {
        let begins = state.withLock { state in
            defer { state.places[index].isWalked = true }
            if state.places[index].isWalked { state.places[index].isOutdated = true }
            return !state.places[index].isWalked
        }
        if begins { beginWalk(index, then: completion) }
    }

    private func beginWalk(_ index: Int, then completion: @escaping @Sendable () -> Void) {
        let work = BlockingThreads.Work { [self] in
            arm(index)
            endWalk(index, completion)
        } refuse: { [self] _ in
            // Without a thread, the next change shows what is there.
            endWalk(index, completion)
        }
        threads(paths[index]).run(work)
    }

    private func endWalk(_ index: Int, _ completion: () -> Void) {
        let isOutdated = state.withLock { state in
            let isOutdated = state.places[index].isOutdated
            state.places[index].isOutdated = false
            state.places[index].isWalked = isOutdated
            removeWatches(&state)
            return isOutdated
        }
        completion()
        if isOutdated { beginWalk(index, then: reportOnLoop) }
    }

    /// Removes the watches of directories that are no longer at their places: not during a walk, which may have found one of them.
    private func removeWatches(_ state: inout State) {
        if state.places.contains(where: \.isWalked) { return }
        let used = state.places.reduce(into: Set()) { $0.formUnion($1.names.keys) }
        for watch in state.watches.subtracting(used) { inotify_rm_watch(point.descriptor, watch) }
        state.watches = used
    }

    /// Watches the existing directories of a path. A directory that is watched already keeps its watch. Walking the path may wait for a disk: not
    /// on an event loop, and without the lock.
    private func arm(_ index: Int) {
        var names: [CInt: Set<String>] = [:]
        addWatches(on: paths[index], &names)
        state.withLock { state in
            state.places[index].names = names
            state.watches.formUnion(names.keys)
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

    // MARK: Events

    /// Reads all events that have arrived. Returns the indices of the paths that they may be about.
    private func readEvents() -> Set<Int> {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        var changed: Set<Int> = []
        while true {
            let count = SystemCall.retrying { read(point.descriptor, &buffer, buffer.count) }
            guard count > 0 else { return changed }
            for event in InotifyEvent.events(in: buffer[..<count]) { note(event, &changed) }
        }
    }

    private func note(_ event: InotifyEvent, _ changed: inout Set<Int>) {
        let isLoss = event.mask & UInt32(IN_Q_OVERFLOW) != 0
        let isEnd = event.mask & UInt32(IN_IGNORED) != 0
        state.withLock { state in
            if isEnd { state.watches.remove(event.watch) }
            for index in state.places.indices {
                let names =
                    isEnd
                    ? state.places[index].names.removeValue(forKey: event.watch)
                    : state.places[index].names[event.watch]
                let isFound = names.map { isEnd || $0.contains(event.name) } ?? false
                // What a walk finds is not known before its end.
                if isLoss || isFound || state.places[index].isWalked { changed.insert(index) }
            }
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
