/// The changes of settings in a file, from ``ProxySettingsMonitor/changes()``. Ends with its monitor or with the task.
public struct ProxySettingsChanges: AsyncSequence, Sendable {
    /// The content of the file after a change: settings, nil without a file, or the error of reading it.
    public typealias Element = Result<ProxySettings?, StreamError>
    /// The sequence never fails; a file that cannot be read is an element.
    public typealias Failure = Never

    let listener: ProxySettingsListener
    /// Kept alive for as long as the sequence is in use.
    let monitor: ProxySettingsMonitor

    /// Makes an iterator. Changes since ``ProxySettingsMonitor/changes()`` are not lost.
    public func makeAsyncIterator() -> Iterator {
        Iterator(changes: self)
    }

    /// Returns the changes one by one.
    public struct Iterator: AsyncIteratorProtocol {
        let changes: ProxySettingsChanges

        /// Waits for the next change; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            await changes.next()
        }

        /// Waits for the next change; nil at the end.
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
