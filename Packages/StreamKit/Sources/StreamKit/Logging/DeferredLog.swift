#if Logging
internal import EventLoops
public import Logging
#endif

/// Keeps log lines while a lock is held: a log handler is code of the application, and may use the stream that holds the lock.
///
/// For a ``StreamTransport`` that makes connections of its own under a lock, as those of HTTP and FTP do. Calls of ``suspend()``
/// and ``resume()`` are paired:
///
/// ```swift
/// state.withLock { state in
///     log?.suspend()
///     log?.install(in: &properties)
///     state.pair = StreamPair(host: host, port: port, properties: properties)
/// }
/// log?.resume()
/// ```
///
/// While no lock is held, lines are passed on at once. The order of the lines is kept in any case. Without the trait `Logging`, no
/// instance exists.
@_spi(Packages) public final class DeferredLog: Sendable {
    #if Logging
    fileprivate struct State: Sendable {
        var lines: [LogEvent] = []
        /// How many calls of `suspend()` have no `resume()` yet.
        var suspensions = 1
        /// A thread passes lines on: no other one may, or lines would overtake each other.
        var isFlushing = false
    }

    private let target: Logger
    private let state = Locked(State())

    /// Makes a log for the `logger` among the properties, suspended; nil if there is no logger.
    public init?(_ properties: StreamProperties) {
        guard let target = properties[.logger] else { return nil }
        self.target = target
    }

    /// A logger with the level of the application's, whose lines are passed on to that one.
    public var logger: Logger {
        var logger = Logger(label: target.label) { _ in Handler(log: self) }
        logger.logLevel = target.logLevel
        return logger
    }

    /// Replaces the logger of the properties by ``logger``.
    public func install(in properties: inout StreamProperties) {
        properties[.logger] = logger
    }

    /// Keeps lines until ``resume()``.
    public func suspend() {
        state.withLock { $0.suspensions += 1 }
    }

    /// Passes on the lines that were kept. Call it without the lock.
    public func resume() {
        state.withLock { $0.suspensions -= 1 }
        flush()
    }

    private func add(_ line: LogEvent) {
        let isSuspended = state.withLock { state in
            state.lines.append(line)
            return state.suspensions > 0
        }
        if !isSuspended { flush() }
    }

    /// Passes on all lines. If another call does so already, perhaps the one from which a handler has led here, it passes on
    /// these as well.
    private func flush() {
        guard state.withLock({ $0.beginFlush() }) else { return }
        while let lines = state.withLock({ $0.takeLines() }) {
            for line in lines {
                target.log(
                    level: line.level, line.message, metadata: line.metadata, source: line.source, file: line.file,
                    function: line.function, line: line.line)
            }
        }
    }

    private struct Handler: LogHandler {
        let log: DeferredLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        init(log: DeferredLog) {
            self.log = log
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { log.add(event) }
    }
    #else
    /// Returns nil: there is no logger without the trait `Logging`.
    public init?(_ properties: StreamProperties) { nil }

    /// Does nothing without the trait `Logging`.
    public func install(in properties: inout StreamProperties) {}

    /// Does nothing without the trait `Logging`.
    public func suspend() {}

    /// Does nothing without the trait `Logging`.
    public func resume() {}
    #endif
}

#if Logging
extension DeferredLog.State {
    fileprivate mutating func beginFlush() -> Bool {
        if isFlushing || lines.isEmpty { return false }
        isFlushing = true
        return true
    }

    /// Returns nil, and ends the flush, when there is no line left.
    fileprivate mutating func takeLines() -> [LogEvent]? {
        if lines.isEmpty {
            isFlushing = false
            return nil
        }
        defer { lines = [] }
        return lines
    }
}
#endif
