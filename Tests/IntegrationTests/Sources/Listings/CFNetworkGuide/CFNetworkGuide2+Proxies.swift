public import NetKit
internal import RunLoopDelivery

extension CFNetworkGuide.Chapter2 {
    /// 2-11: makes a stream use the machine's proxies.
    ///
    /// Call once: `ProxySettings.environment()`, which returns the settings.
    public static func listing11(_ stream: ReadStream, _ settings: ProxySettings) throws(StreamError) {
        try stream.set(.httpProxySettings, to: settings)
    }

    /// 2-12 to 2-17: settings for many streams that are kept up to date. Here they are in a file.
    public final class Listing12: Sendable {
        private let monitor: ProxySettingsMonitor
        private let settings = Locked<ProxySettings?>(nil)
        private let subscription = Locked<ProxySettingsSubscription?>(nil)

        /// 2-12: begins a long-lived session.
        public init(_ path: String) throws(StreamError) {
            monitor = try ProxySettingsMonitor(path: path)
        }

        /// 2-13: subscribes to changes, on this thread's run loop.
        public func listing13(_ proxiesHaveChanged: @escaping @Sendable () -> Void) {
            let subscription = monitor.onChange(on: .currentRunLoop) { [weak self] _ in
                self?.listing15()
                proxiesHaveChanged()
            }
            self.subscription.withLock { $0 = subscription }
        }

        /// 2-14: loads the settings for the first time.
        public func listing14() throws(StreamError) {
            let loaded = try monitor.settings()
            settings.withLock { $0 = loaded }
        }

        /// 2-15: loads them again, at each change. Invalid settings leave them unchanged.
        public func listing15() {
            try? listing14()
        }

        /// 2-16: makes a stream use them.
        public func listing16(_ stream: ReadStream) throws(StreamError) {
            try stream.set(.httpProxySettings, to: settings.withLock { $0 })
        }

        /// 2-17: ends the session and removes it from the run loop.
        public func listing17() {
            subscription.withLock { $0 = nil }
            monitor.close()
        }
    }
}
