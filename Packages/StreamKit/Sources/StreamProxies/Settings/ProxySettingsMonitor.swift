@_spi(Packages) public import EventLoops
internal import Glibc
@_spi(Packages) internal import StreamCore

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
    private let watch: Locked<FilesWatch?>
    /// Has an element after each change of the file.
    private let signals = Mailbox<Void>(merging: { _, _ in })

    /// Starts to watch a file. Neither the file nor its directory need exist.
    ///
    /// The file is read once it has been closed after writing, moved or removed. If the kernel has no watches left for this user, or the
    /// process may not read the directory, the file is looked at every two seconds.
    ///
    /// - Throws: `EINVAL` if the path names no file.
    public convenience init(path: String) throws(StreamError) {
        try self.init(path: path, threads: .files(at: path))
    }

    /// - Parameter threads: read the file after a change: its disk may hang.
    init(path: String, threads: BlockingThreads) throws(StreamError) {
        guard path.utf8.contains(where: { $0 != UInt8(ascii: "/") }) else { throw StreamError(posix: EINVAL) }
        self.path = path
        watch = Locked(FilesWatch([path], onlyWhenWritten: true) { [signals] in signals.put(()) })
        core = Core(path: path, threads: threads)
        Task(executorPreference: EventLoop.shared) { [core, signals] in
            while (try? await signals.next()) != nil { await core.refresh() }
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
        ProxySettingsChanges(core.changes, of: self)
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
        signals.finish()
        withExtendedLifetime(watch.withLock { $0.take() }) {}  // released after the lock
        core.changes.finish()
    }
}

/// The changes of settings in a file, from ``ProxySettingsMonitor/changes()``.
///
/// An element is the content of the file after a change: settings, nil without a file, or the error of reading it. The sequence keeps its
/// monitor alive, and ends with it or with the task.
public typealias ProxySettingsChanges = BroadcastSequence<Result<ProxySettings?, StreamError>, ProxySettingsMonitor>
