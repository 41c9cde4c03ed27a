public import EventLoops

/// The proxy settings in a file, and a notice whenever they become others.
///
/// ```swift
/// let monitor = try ProxySettingsMonitor(path: "/etc/netkit/proxies")
/// let settings = try monitor.settings()                     // nil if there is no such file
/// for await _ in monitor.changes() { … }                    // or:
/// let subscription = monitor.onChange(on: .mainRunLoop) { monitor in … }
/// ```
///
/// The file is read when it changes, and not otherwise (``ProxySettings/init(fileText:)`` says how it is written). What it
/// says is compared with what it said: who rewrites it without changing anything is not noticed. The monitor lives until
/// ``close()`` or until it is let go. Replaces `SCDynamicStoreCreate` with `SCDynamicStoreKeyCreateProxies`,
/// `SCDynamicStoreSetNotificationKeys` and `SCDynamicStoreCreateRunLoopSource`.
public final class ProxySettingsMonitor: Sendable {
    private struct State {
        var content: Result<ProxySettings?, StreamError>
        var listeners: [ObjectIdentifier: WeakListener] = [:]
        var hasEnded = false
    }

    private struct WeakListener {
        weak var listener: ProxySettingsListener?
    }

    /// What the watching task knows: not the monitor, so that letting the monitor go ends it.
    private final class Core: Sendable {
        let path: String
        let state: Locked<State>

        init(path: String) {
            self.path = path
            state = Locked(State(content: ProxySettingsMonitor.read(path)))
        }

        /// Reads the file anew; tells the listeners if it says something else.
        func refresh() {
            let content = ProxySettingsMonitor.read(path)
            let listeners = state.withLock { state -> [ProxySettingsListener] in
                if state.content == content { return [] }
                state.content = content
                return state.listeners.values.compactMap(\.listener)
            }
            for listener in listeners { listener.note() }
        }

        func end() {
            let listeners = state.withLock { state in
                state.hasEnded = true
                return state.listeners.values.compactMap(\.listener)
            }
            for listener in listeners { listener.end() }
        }
    }

    /// The file.
    public let path: String
    private let core: Core
    private let watch: FileWatch

    /// Begins to watch a file, which need not be there; its folder must.
    ///
    /// - Throws: an `errno` if the folder is not there, or the system gives no more watches.
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

    /// What the file says now; nil if it is not there. Replaces `SCDynamicStoreCopyProxies`.
    ///
    /// - Throws: why it could not be read, the last time it changed.
    public func settings() throws(StreamError) -> ProxySettings? {
        try core.state.withLock { $0.content }.get()
    }

    /// The changes from now on: what the file says after each. A slow reader gets several as one. Ends with the monitor.
    public func changes() -> ProxySettingsChanges {
        ProxySettingsChanges(listener: listen(), monitor: self)
    }

    /// Has `handler` called on `target` at each change, until the subscription is cancelled or let go. Replaces
    /// `SCDynamicStoreCallBack`.
    public func onChange(
        on target: any DeliveryTarget, _ handler: @escaping @Sendable (ProxySettingsMonitor) -> Void
    ) -> ProxySettingsSubscription {
        ProxySettingsSubscription(listener: listen(), monitor: self, target: target, handler: handler)
    }

    /// Ends watching, and all notices. Idempotent. Replaces `CFRunLoopSourceInvalidate`.
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
