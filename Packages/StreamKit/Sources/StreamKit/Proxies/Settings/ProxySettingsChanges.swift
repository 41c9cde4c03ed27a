/// The changes of settings in a file, from ``ProxySettingsMonitor/changes()``. Ends with its monitor or with the task.
public struct ProxySettingsChanges: AsyncSequence, Sendable {
    /// What the file says after a change: settings, nil without a file, or why it could not be read.
    public typealias Element = Result<ProxySettings?, StreamError>
    /// It never fails; a file that cannot be read is an element.
    public typealias Failure = Never

    let listener: ProxySettingsListener
    /// Kept alive as long as somebody listens.
    let monitor: ProxySettingsMonitor

    /// Begins to listen; changes since ``ProxySettingsMonitor/changes()`` are not lost.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: self)
    }

    /// Takes the changes one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let changes: ProxySettingsChanges

        /// The next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await changes.next()
        }

        /// The next change; nil at the end.
        public mutating func next() async -> Element? {
            await changes.next()
        }
    }

    fileprivate nonisolated(nonsending) func next() async -> Element? {
        guard await listener.next() else { return nil }
        do throws(StreamError) {
            return .success(try monitor.settings())
        } catch {
            return .failure(error)
        }
    }
}
