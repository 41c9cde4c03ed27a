public import EventLoops

/// Watches the proxy settings in a file, and reports when they change.
///
/// ```swift
/// let monitor = try ProxySettingsMonitor(path: "/etc/netkit/proxies")
/// let settings = try monitor.settings()                     // nil if there is no such file
/// for await _ in monitor.changes() { … }                    // or:
/// let subscription = monitor.onChange(on: .mainRunLoop) { monitor in … }
/// ```
///
/// The file is read only when it changes; ``ProxySettings/init(fileText:)`` describes its format. Its content is
/// compared with the previous content, so that rewriting the file without changes is not reported. The monitor is
/// active until ``close()`` or until it is released. Replaces `SCDynamicStoreCreate` with
/// `SCDynamicStoreKeyCreateProxies`, `SCDynamicStoreSetNotificationKeys` and `SCDynamicStoreCreateRunLoopSource`.
public final class ProxySettingsMonitor: Sendable {
    private struct State {
        var content: Result<ProxySettings?, StreamError>
        var listeners: [ObjectIdentifier: WeakListener] = [:]
        var hasEnded = false
    }

    private struct WeakListener {
        weak var listener: ProxySettingsListener?
    }

    /// The state that the watching task uses: not the monitor, so that releasing the monitor ends the task.
    private final class Core: Sendable {
        let path: String
        let state: Locked<State>

        init(path: String) {
            self.path = path
            state = Locked(State(content: ProxySettingsMonitor.read(path)))
        }

        /// Reads the file again, and notifies the listeners if its content has changed.
        func refresh() {
            let content = ProxySettingsMonitor.read(path)
            let listeners = state.withLock { state -> [ProxySettingsListener] in
                if state.content == content { return [] }
                state.content = content
                return state.listeners.values.compactMap(\.listener)
            }
            for listener in listeners { listener.notify() }
        }

        func end() {
            let listeners = state.withLock { state in
                state.hasEnded = true
                return state.listeners.values.compactMap(\.listener)
            }
            for listener in listeners { listener.end() }
        }
    }

    /// The path of the file.
    public let path: String
    private let core: Core
    private let watch: FileWatch

    /// Starts to watch a file. The file need not exist, but its directory must.
    ///
    /// - Throws: an `errno` if the directory does not exist, or the system has no more watches.
    public init(path: String) throws(StreamError) {
        self.path = path
        let watch = try FileWatch(path: path)
        let core = Core(path: path)
        self.watch = watch
        self.core = core
        Task(executorPreference: EventLoop.shared) {
            while await watch.next() { core.refresh() }
            core.end()
        }
    }

    deinit { close() }

    /// Returns the present settings of the file; nil if it does not exist. Replaces `SCDynamicStoreCopyProxies`.
    ///
    /// - Throws: the error of reading the file when it last changed.
    public func settings() throws(StreamError) -> ProxySettings? {
        try core.state.withLock { $0.content }.get()
    }

    /// Returns the changes from now on: the content of the file after each. A slow reader gets several changes as one.
    /// Ends with the monitor.
    public func changes() -> ProxySettingsChanges {
        ProxySettingsChanges(listener: listen(), monitor: self)
    }

    /// Calls `handler` on `target` at each change, until the subscription is cancelled or released. Replaces
    /// `SCDynamicStoreCallBack`.
    public func onChange(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (ProxySettingsMonitor) -> Void
    ) -> ProxySettingsSubscription {
        ProxySettingsSubscription(listener: listen(), monitor: self, target: target, handler: handler)
    }

    /// Stops watching, and all notifications. Idempotent. Replaces `CFRunLoopSourceInvalidate`.
    public func close() {
        watch.close()
        core.end()
    }

    private func listen() -> ProxySettingsListener {
        let listener = ProxySettingsListener()
        let hasEnded = core.state.withLock { state in
            state.listeners = state.listeners.filter { $0.value.listener != nil }
            state.listeners[ObjectIdentifier(listener)] = WeakListener(listener: listener)
            return state.hasEnded
        }
        if hasEnded { listener.end() }
        return listener
    }

    private static func read(_ path: String) -> Result<ProxySettings?, StreamError> {
        do throws(StreamError) {
            return .success(try ProxySettings.file(path))
        } catch {
            return .failure(error)
        }
    }
}
