public import EventLoops
internal import Glibc

/// Watches the proxy settings in a file, and reports when they change.
///
/// ```swift
/// let monitor = try ProxySettingsMonitor(path: "/etc/netkit/proxies")
/// let settings = try monitor.settings()                     // nil if there is no such file
/// for await change in monitor.changes() { print(change) }   // or:
/// let subscription = monitor.observe(on: .queue(.main)) { monitor in print("the file has changed") }
/// ```
///
/// The file is read only when it changes; ``ProxySettings/init(fileText:)`` describes its format. Its content is
/// compared with the previous content, so that rewriting the file without changes is not reported. The monitor is
/// active until ``stop()`` or until it is released. Replaces `SCDynamicStoreCreate` with
/// `SCDynamicStoreKeyCreateProxies`, `SCDynamicStoreSetNotificationKeys` and `SCDynamicStoreCreateRunLoopSource`.
public final class ProxySettingsMonitor: Sendable {
    /// The state that the watching task uses: not the monitor, so that releasing the monitor ends the task.
    private final class Core: Sendable {
        let path: String
        private let threads: BlockingThreads
        let content: Locked<Result<ProxySettings?, StreamError>>
        /// The content of the file after each change; for each subscriber, the newest that it has not taken.
        let changes = Broadcast<Result<ProxySettings?, StreamError>> { Mailbox(merging: { $0 = $1 }) }

        init(path: String, threads: BlockingThreads) {
            self.path = path
            self.threads = threads
            content = Locked(Result { () throws(StreamError) in try ProxySettings.file(path) })
        }

        /// Reads the file again, and reports a change of its content.
        nonisolated(nonsending) func refresh() async {
            let new: Result<ProxySettings?, StreamError>
            do throws(StreamError) {
                new = .success(
                    try await threads.fileResult { [path] () throws(StreamError) in try ProxySettings.file(path) })
            } catch {
                new = .failure(error)
            }
            let isChanged = content.withLock { content in
                defer { content = new }
                return content != new
            }
            if isChanged { changes.send(new) }
        }
    }

    /// The path of the file.
    public let path: String
    private let core: Core
    private let watch: FileWatch

    /// Starts to watch a file. The file need not exist, but its directory must.
    ///
    /// - Throws: an `errno` if the directory does not exist, or the system has no more watches.
    public convenience init(path: String) throws(StreamError) {
        try self.init(path: path, threads: .files(at: path))
    }

    /// - Parameter threads: read the file after a change: its disk may hang.
    init(path: String, threads: BlockingThreads) throws(StreamError) {
        self.path = path
        let watch = try FileWatch(path: path)
        let core = Core(path: path, threads: threads)
        self.watch = watch
        self.core = core
        Task(executorPreference: EventLoop.shared) {
            while await watch.next() { await core.refresh() }
            core.changes.finish()
        }
    }

    deinit { stop() }

    /// Returns the present settings of the file; nil if it does not exist. Replaces `SCDynamicStoreCopyProxies`.
    ///
    /// - Throws: the error of reading the file when it last changed.
    public func settings() throws(StreamError) -> ProxySettings? {
        try core.content.withLock { $0 }.get()
    }

    /// Returns the changes from now on: the content of the file after each. A slow reader gets only the newest. Ends
    /// with the monitor.
    public func changes() -> ProxySettingsChanges {
        ProxySettingsChanges(readers: BroadcastReaders(core.changes), monitor: self)
    }

    /// Calls `handler` on `target` at each change, until the subscription is cancelled or released. Replaces
    /// `SCDynamicStoreCallBack`.
    public func observe(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (ProxySettingsMonitor) -> Void
    ) -> Subscription {
        let mailbox = core.changes.subscribe()
        // The handler keeps the monitor, which therefore lasts as long as the subscription.
        return mailbox.observe(on: target) { [self] in
            if mailbox.tryNext() != nil { handler(self) }
        }
    }

    /// Stops watching, and all notifications. Idempotent. Replaces `CFRunLoopSourceInvalidate`.
    public func stop() {
        watch.close()
        core.changes.finish()
    }
}

/// The changes of settings in a file, from ``ProxySettingsMonitor/changes()``. Ends with its monitor or with the task.
public struct ProxySettingsChanges: AsyncSequence, Sendable {
    /// The content of the file after a change: settings, nil without a file, or the error of reading it.
    public typealias Element = Result<ProxySettings?, StreamError>
    /// The sequence never fails; a file that cannot be read is an element.
    public typealias Failure = Never

    fileprivate let readers: BroadcastReaders<Element>
    /// Kept alive for as long as the sequence is in use.
    fileprivate let monitor: ProxySettingsMonitor

    /// Makes an iterator. Changes since ``ProxySettingsMonitor/changes()`` are not lost; beside another iterator, those from now on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: readers.make(), monitor: monitor)
    }

    /// Returns the changes one by one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: BroadcastReaders<ProxySettingsChanges.Element>.Reader
        fileprivate let monitor: ProxySettingsMonitor

        /// Waits for the next change; nil at the end, or if the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            try? await reader.mailbox.next()
        }

        /// Waits for the next change; nil at the end, or if the task is cancelled.
        public mutating func next() async -> Element? {
            try? await reader.mailbox.next()
        }
    }
}

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
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        let folder = (isAbsolute ? "/" : "./") + parts.dropLast().map { String(Substring($0)) }.joined(separator: "/")
        name = parts.last.map { Array($0) } ?? []
        guard !name.isEmpty else { throw StreamError(posix: EINVAL) }
        let descriptor = inotify_init1(O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw StreamError(posix: errno) }
        point = WaitPoint(descriptor: descriptor, ownership: .owned)
        let mask = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR)
        guard inotify_add_watch(descriptor, folder, mask) >= 0 else {
            let failure = errno
            point.close()
            throw StreamError.fileNotOpened(folder, failure)
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
            let count = SystemCall.retrying { read(point.descriptor, &buffer, buffer.count) }
            if count > 0 {
                if containsChange(buffer[..<count]) { return true }
            } else if count < 0, errno == EAGAIN {
                guard await point.readerWait(for: .readable, until: nil) == .ready else { return false }
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
