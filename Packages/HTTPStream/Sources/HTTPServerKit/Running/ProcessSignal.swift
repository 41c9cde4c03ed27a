internal import Dispatch
internal import EventLoops
internal import Glibc
public import HTTPStream

/// A signal that asks a process to end.
public struct ProcessSignal: RawRepresentable, Sendable, Hashable {
    /// The number of the signal.
    public let rawValue: Int32

    /// Makes a signal with any number.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The request of a service manager to end.
    public static let sigterm = ProcessSignal(rawValue: SIGTERM)
    /// Ctrl-C.
    public static let sigint = ProcessSignal(rawValue: SIGINT)
    /// The end of the terminal; services use it to load their configuration again.
    public static let sighup = ProcessSignal(rawValue: SIGHUP)
}

extension HTTPServer {
    /// Serves clients with a router until a signal arrives, then lets current requests end within a time limit.
    ///
    /// ```swift
    /// try await HTTPServer(port: 8080).run(router, stoppingOn: [.sigterm, .sigint])
    /// ```
    ///
    /// - Parameters:
    ///   - router: The router.
    ///   - signals: The signals that stop the server. Their default actions are suspended meanwhile. A second signal ends all
    ///     requests at once.
    ///   - grace: The time for which current requests may continue; then their handlers are cancelled. Default 10 s.
    /// - Throws: as `run(_:)`.
    public func run(
        _ router: Router, stoppingOn signals: [ProcessSignal], within grace: Duration = .seconds(10)
    ) async throws(StreamError) {
        try await run(stoppingOn: signals, within: grace) { exchange in try await router.handle(exchange) }
    }

    /// Serves clients with a handler until a signal arrives, then lets current requests end within a time limit.
    ///
    /// The parameters are those of ``run(_:stoppingOn:within:)``.
    public func run(
        stoppingOn signals: [ProcessSignal], within grace: Duration = .seconds(10), _ handler: @escaping Handler
    ) async throws(StreamError) {
        let count = Locked(0)
        let watch = SignalWatch(signals) { [weak self] in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            self?.stop(within: isFirst ? grace : .zero)
        }
        defer { watch.end() }
        try await run(handler)
    }
}

/// Calls a closure for each of some signals, until it is ended.
///
/// A signal whose default action would end the process must be ignored meanwhile. Several watches may have the same signal; the
/// last one restores its action.
private final class SignalWatch: Sendable {
    private struct Suspended {
        var count: Int
        let action: sigaction
    }

    private static let suspended = Locked<[Int32: Suspended]>([:])

    /// `sigaction` as a function; its name is also that of a structure.
    private static let exchangeAction:
        @Sendable (Int32, UnsafePointer<sigaction>?, UnsafeMutablePointer<sigaction>?) -> Int32 = sigaction

    private let signals: Set<ProcessSignal>
    private let sources: Locked<[any DispatchSourceSignal]>

    init(_ signals: [ProcessSignal], _ receive: @escaping @Sendable () -> Void) {
        let signals = Set(signals)
        self.signals = signals
        SignalWatch.suspended.withLock { suspended in
            for signal in signals {
                if suspended[signal.rawValue] != nil {
                    suspended[signal.rawValue]?.count += 1
                } else {
                    var ignoring = sigaction()
                    ignoring.__sigaction_handler.sa_handler = SIG_IGN
                    var action = sigaction()
                    _ = SignalWatch.exchangeAction(signal.rawValue, &ignoring, &action)
                    suspended[signal.rawValue] = Suspended(count: 1, action: action)
                }
            }
        }
        sources = Locked(
            signals.map { signal in
                let source = DispatchSource.makeSignalSource(signal: signal.rawValue, queue: .global())
                source.setEventHandler(handler: receive)
                source.resume()
                return source
            })
    }

    func end() {
        for source in sources.withLock({ $0 }) { source.cancel() }
        SignalWatch.suspended.withLock { suspended in
            for signal in signals {
                guard var entry = suspended[signal.rawValue] else { continue }
                entry.count -= 1
                suspended[signal.rawValue] = entry.count == 0 ? nil : entry
                if entry.count == 0 {
                    var action = entry.action
                    _ = SignalWatch.exchangeAction(signal.rawValue, &action, nil)
                }
            }
        }
    }
}
