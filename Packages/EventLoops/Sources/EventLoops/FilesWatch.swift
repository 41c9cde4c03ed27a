internal import Glibc

/// Watches files with inotify(7), on an event loop, and reports when one of them may have changed.
///
/// ```swift
/// let watch = FilesWatch(["/etc/resolv.conf", "/etc/hosts"]) { print("name resolution may have changed") }
/// ```
///
/// A file need not exist, nor its directories. The directories are watched, not the files: an editor replaces a file, and a missing one may be
/// created. So are the directories above, of which one may be created, removed or moved, and those where symbolic links lead to, also if there
/// is nothing yet.
///
/// The kernel watches a limited number of directories for each user (`fs.inotify.max_user_instances`, `max_user_watches`), and none that the
/// process may not read. A path with a directory that cannot be watched is looked at every two seconds, until it can. A change is then reported
/// if the file has another identity, size or time.
///
/// Each path is walked by itself, on a thread for files, since a disk may not answer: the change of a path is reported once it has been walked
/// again, whatever the disks of the other paths do.
///
/// The watch ends when it is released.
@_spi(Packages) public final class FilesWatch: Sendable {
    /// The calls of inotify(7), which fail for lack of instances and watches.
    struct Kernel: Sendable {
        var open: @Sendable () -> CInt = { inotify_init1(O_CLOEXEC | O_NONBLOCK) }
        var add: @Sendable (CInt, [CChar], UInt32) -> CInt = { inotify_add_watch($0, $1, $2) }
    }

    /// The names to look for, by the number of the watch of their directory.
    fileprivate typealias Names = [CInt: Set<[UInt8]>]

    private struct Place {
        var names: Names = [:]
        /// What the last walk found; nil if there was no file.
        var file: FileStamp?
        /// Whether a thread walks the path, or will.
        var isWalked = false
        /// What has happened meanwhile: what it means is known at the end of the walk.
        var missed = MissedEvents()
        var polling = Polling.none
    }

    /// How far the next look at a path is that the kernel does not watch.
    private enum Polling {
        /// The kernel watches the path, or the first walk has not ended.
        case none
        /// A timer will have the path walked.
        case waits
        /// The path is being walked.
        case walks
    }

    private struct State {
        /// nil while the user has no instance of inotify(7) left.
        var point: WaitPoint?
        /// In the order of the paths.
        var places: [Place]
        /// All watches of the kernel.
        var watches: Set<CInt> = []
        /// Whether the first walks are over, or have taken too long.
        var hasBegun = false
    }

    /// What a walk finds.
    private struct Walk {
        var names: Names = [:]
        var file: FileStamp?
        /// Whether the kernel watches all directories of the path that exist.
        var isWatched = true
    }

    /// The links of a path that are followed, as by the kernel (path_resolution(7)).
    private static let maximumLinks = 40
    /// The time between two walks of a path that the kernel does not watch.
    static let pollInterval: Duration = .seconds(2)

    private let paths: [String]
    /// The events of the file itself that count.
    private let content: Int32
    private let kernel: Kernel
    private let pollInterval: Duration
    private let threads: @Sendable (_ path: String) -> BlockingThreads
    private let report: @Sendable () -> Void
    private let state: Locked<State>

    /// Starts to watch. The calling thread waits for the disks of the paths, for 60 s at most.
    ///
    /// - Parameters:
    ///   - paths: absolute paths, or paths from the current folder.
    ///   - onlyWhenWritten: whether a file counts only once it has been closed after writing, moved or removed, so that no half-written file is
    ///     read; a link that is created at a path is then not noticed. A path that the kernel does not watch is reported in any case.
    ///   - report: called on an event loop after each change.
    public convenience init(
        _ paths: [String], onlyWhenWritten: Bool = false, _ report: @escaping @Sendable () -> Void
    ) {
        self.init(paths, onlyWhenWritten: onlyWhenWritten, kernel: Kernel(), report)
    }

    /// - Parameters:
    ///   - kernel: what watches the directories.
    ///   - pollInterval: the time between two walks of a path that it does not watch.
    ///   - threads: the threads that walk a path.
    init(
        _ paths: [String], onlyWhenWritten: Bool = false, kernel: Kernel = Kernel(),
        pollInterval: Duration = FilesWatch.pollInterval,
        threads: @escaping @Sendable (_ path: String) -> BlockingThreads = { .files(at: $0) },
        _ report: @escaping @Sendable () -> Void
    ) {
        self.paths = paths.map(FilesWatch.absolute)
        let changes = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
        content = onlyWhenWritten ? changes : changes | IN_CREATE | IN_ATTRIB
        self.kernel = kernel
        self.pollInterval = pollInterval
        self.threads = threads
        self.report = report
        state = Locked(State(places: paths.map { _ in Place() }))
        let walks = paths.indices.map { index in
            let isOver = OneShot<Void>()
            walk(index) { [weak self] _ in
                // First, because the walk is not late if it ends the wait.
                self?.reportIfLate()
                isOver.provide(())
            }
            return isOver
        }
        let deadline = Moment.now + BlockingThreads.fileTimeout
        for walk in walks {
            // A path whose disk has not answered is watched once it does.
            do throws(WaitError) { try walk.value(until: deadline) } catch {}
        }
        state.withLock { $0.hasBegun = true }
    }

    deinit { state.withLock { $0.point }?.close() }

    /// Whether a path is not watched by the kernel. For tests.
    var isPolling: Bool { state.withLock { $0.places.contains { $0.polling != .none } } }

    private func reportOnLoop() { EventLoop.shared.execute(report) }

    /// Reports the end of a first walk that nothing has waited for.
    private func reportIfLate() {
        if state.withLock({ $0.hasBegun }) { reportOnLoop() }
    }

    // MARK: Walks

    /// Walks a path, unless a thread does so already, and calls `completion`.
    private func walk(_ index: Int, then completion: @escaping @Sendable (_ isChange: Bool) -> Void) {
        let begins = state.withLock { state in
            defer { state.places[index].isWalked = true }
            return !state.places[index].isWalked
        }
        if begins { beginWalk(index, then: completion) }
    }

    private func beginWalk(_ index: Int, then completion: @escaping @Sendable (_ isChange: Bool) -> Void) {
        let work = BlockingThreads.Work { [self] in
            endWalk(index, walked(paths[index]), completion)
        } refuse: { [self] _ in
            // Without a thread, the path is walked later.
            completion(true)
            EventLoop.shared.schedule(at: .now + pollInterval) { [weak self] in
                self?.beginWalk(index) { [weak self] _ in self?.reportOnLoop() }
            }
        }
        threads(paths[index]).run(work)
    }

    private func endWalk(_ index: Int, _ walk: Walk, _ completion: (_ isChange: Bool) -> Void) {
        let (isChange, isOutdated, pollsLater) = state.withLock { state in
            let place = state.places[index]
            let isOutdated = place.missed.concern(walk.names)
            let names = walk.names.filter { !place.missed.ended.contains($0.key) }
            var (polling, pollsLater) = (place.polling, false)
            if !isOutdated, polling != .waits {
                pollsLater = !walk.isWatched
                polling = pollsLater ? .waits : .none
            }
            state.places[index] = Place(names: names, file: walk.file, isWalked: isOutdated, polling: polling)
            state.watches.formUnion(names.keys)
            removeWatches(&state)
            return (walk.file != place.file, isOutdated, pollsLater)
        }
        completion(isChange)
        if isOutdated { beginWalk(index) { [weak self] _ in self?.reportOnLoop() } }
        if pollsLater { pollLater(index) }
    }

    /// Has a path walked after the interval, and a change reported.
    private func pollLater(_ index: Int) {
        EventLoop.shared.schedule(at: .now + pollInterval) { [weak self] in
            guard let self else { return }
            state.withLock { $0.places[index].polling = .walks }
            walk(index) { [weak self] isChange in
                if isChange { self?.reportOnLoop() }
            }
        }
    }

    /// Removes the watches of directories that are no longer at their places: not during a walk, which may have found one of them.
    private func removeWatches(_ state: inout State) {
        guard let point = state.point, !state.places.contains(where: \.isWalked) else { return }
        let used = state.places.reduce(into: Set()) { $0.formUnion($1.names.keys) }
        for watch in state.watches.subtracting(used) { inotify_rm_watch(point.descriptor, watch) }
        state.watches = used
    }

    /// Walks a path, which may wait for a disk: not on an event loop, and without the lock.
    private func walked(_ path: String) -> Walk {
        var walk = Walk()
        if let point = openPoint() { addWatches(on: path, point, &walk) } else { walk.isWatched = false }
        walk.file = FileStamp(path)
        return walk
    }

    /// Watches each directory on the way to a file for the name that comes next there. A directory that is watched already keeps its watch. A
    /// link is read once its directory is watched, so that no change of it is missed.
    private func addWatches(on path: String, _ point: WaitPoint, _ walk: inout Walk) {
        let presence = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE
        var (rest, folder): ([[UInt8]], [[UInt8]]) = (FilesWatch.components(path.utf8).reversed(), [])
        var links = 0
        while let name = rest.popLast() {
            if name.elementsEqual(".".utf8) { continue }
            if name.elementsEqual("..".utf8) {
                _ = folder.popLast()
                continue
            }
            let mask = (rest.isEmpty ? content : presence) | IN_ONLYDIR | IN_MASK_ADD
            let watch = kernel.add(point.descriptor, FilesWatch.path(folder), UInt32(mask))
            if watch >= 0 {
                walk.names[watch, default: []].insert(name)
            } else if errno != ENOENT, errno != ENOTDIR {
                walk.isWatched = false
            }
            folder.append(name)
            guard let target = FilesWatch.target(of: FilesWatch.path(folder)) else { continue }
            links += 1
            if links > FilesWatch.maximumLinks { return }
            if target.first == UInt8(ascii: "/") { folder = [] } else { folder.removeLast() }
            rest += FilesWatch.components(target).reversed()
        }
    }

    private static func absolute(_ path: String) -> String {
        if path.utf8.first == UInt8(ascii: "/") { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private static func components(_ path: some Collection<UInt8>) -> [[UInt8]] {
        path.split(separator: UInt8(ascii: "/")).map { Array($0) }
    }

    private static func path(_ components: [[UInt8]]) -> [CChar] {
        let bytes = components.isEmpty ? Array("/".utf8) : components.flatMap { Array("/".utf8) + $0 }
        return bytes.map { CChar(bitPattern: $0) } + [0]
    }

    /// Where a symbolic link leads to; nil for anything else.
    private static func target(of path: [CChar]) -> [UInt8]? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? buffer.prefix(count).map { UInt8(bitPattern: $0) } : nil
    }

    // MARK: Events

    /// The point of the kernel's events, which are read from now on; nil if the user has no instance of inotify(7) left.
    private func openPoint() -> WaitPoint? {
        let (point, isNew) = state.withLock { state -> (WaitPoint?, Bool) in
            if let point = state.point { return (point, false) }
            let descriptor = kernel.open()
            if descriptor >= 0 { state.point = WaitPoint(descriptor: descriptor, ownership: .owned) }
            return (state.point, descriptor >= 0)
        }
        guard let point, isNew else { return point }
        // The task holds the watch weakly between events: releasing the watch ends the task.
        Task(executorPreference: EventLoop.shared) { [weak self, pollInterval] in
            guard point.enter(.reader) == .entered else { return }
            defer { point.leave(.reader) }
            repeat {
                guard let self else { return }
                for index in readEvents(of: point) { walk(index) { [weak self] _ in self?.reportOnLoop() } }
            } while await FilesWatch.mayHaveEvents(point, pollInterval)
        }
        return point
    }

    /// Waits for events. Returns false at the end.
    private static nonisolated(nonsending) func mayHaveEvents(
        _ point: WaitPoint, _ pollInterval: Duration
    ) async -> Bool {
        switch await point.readerWait(for: .readable, until: nil) {
        case .ready: return true
        case .failed:
            // The loop cannot watch the descriptor.
            do throws(CancellationError) { try await EventLoop.shared.sleep(for: pollInterval) } catch { return false }
            return !point.isClosed(.reader)
        case .timedOut, .cancelled, .closed, .busy: return false
        }
    }

    /// Reads all events that have arrived. Returns the indices of the paths that they are about.
    private func readEvents(of point: WaitPoint) -> Set<Int> {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        var changed: Set<Int> = []
        while true {
            let count = SystemCall.retrying { read(point.descriptor, &buffer, buffer.count) }
            guard count > 0 else { return changed }
            for event in InotifyEvent.events(in: buffer[..<count]) { note(event, &changed) }
        }
    }

    private func note(_ event: InotifyEvent, _ changed: inout Set<Int>) {
        state.withLock { state in
            if event.isEnd { state.watches.remove(event.watch) }
            for index in state.places.indices {
                if state.places[index].isWalked {
                    state.places[index].missed.append(event)
                } else if event.concerns(state.places[index].names) {
                    changed.insert(index)
                }
                if event.isEnd { state.places[index].names[event.watch] = nil }
            }
        }
    }
}

/// The events that arrive while a path is walked.
private struct MissedEvents {
    /// The number of events of which the names are kept: more count as a loss.
    private static let maximumEvents = 1000

    private var events: [InotifyEvent] = []
    private var isLoss = false
    /// The numbers of watches that have ended.
    private(set) var ended: Set<CInt> = []

    mutating func append(_ event: InotifyEvent) {
        if event.isEnd { ended.insert(event.watch) }
        if events.count < MissedEvents.maximumEvents { events.append(event) } else { isLoss = true }
    }

    /// Whether one of them may be about a path with these names.
    func concern(_ names: FilesWatch.Names) -> Bool { isLoss || events.contains { $0.concerns(names) } }
}

/// An event of the kernel about a directory: struct inotify_event of inotify(7).
struct InotifyEvent: Equatable {
    private static let headerSize = 16

    let watch: CInt
    let mask: UInt32
    let name: [UInt8]

    /// Whether the watch has ended, as its directory was removed.
    var isEnd: Bool { mask & UInt32(IN_IGNORED) != 0 }

    /// Whether it may be about one of the names in the watched directories.
    fileprivate func concerns(_ names: FilesWatch.Names) -> Bool {
        if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        guard let names = names[watch] else { return false }
        return isEnd || names.contains(name)
    }

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
            events.append(InotifyEvent(watch: CInt(bitPattern: fields[0]), mask: fields[1], name: Array(name)))
            rest = rest.dropFirst(size)
        }
        return events
    }
}
