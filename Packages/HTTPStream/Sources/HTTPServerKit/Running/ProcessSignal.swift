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
    ///   - signals: The signals that stop the server. Their actions are replaced meanwhile. A second signal ends all
    ///     requests at once.
    ///   - grace: The time for which current requests may continue; then their handlers are cancelled. Default 10 s.
    /// - Throws: as `run(_:)`, but not if a signal arrives before the server has begun to serve; `EINVAL` for a signal that no
    ///   process can handle, such as SIGKILL.
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
        try await run(stoppingOn: signals, within: grace, beforeServing: {}, handler)
    }

    /// - Parameter beforeServing: called once signals are watched; for tests.
    func run(
        stoppingOn signals: [ProcessSignal], within grace: Duration, beforeServing: () async -> Void,
        _ handler: @escaping Handler
    ) async throws(StreamError) {
        guard signals.allSatisfy(SignalWatch.canWatch) else { throw StreamError(posix: EINVAL) }
        let count = Locked(0)
        let watch = await SignalWatch.begin(signals) { [weak self] in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            self?.stop(within: isFirst ? grace : .zero)
        }
        defer { watch.end() }
        await beforeServing()
        do throws(StreamError) {
            try await run(handler)
        } catch {
            // A server that has been stopped cannot run.
            if error == .closed, count.withLock({ $0 }) > 0 { return }
            throw error
        }
    }
}

/// Calls a closure for each of some signals, until it is ended.
///
/// Dispatch replaces the action of a signal that a source watches. Several watches may have the same signal; the last one restores
/// its action.
private final class SignalWatch: Sendable {
    private struct Replaced {
        var count: Int
        let action: sigaction
    }

    private static let replaced = Locked<[Int32: Replaced]>([:])

    /// `sigaction` as a function; its name is also that of a structure.
    private static let exchangeAction:
        @Sendable (Int32, UnsafePointer<sigaction>?, UnsafeMutablePointer<sigaction>?) -> Int32 = sigaction

    /// Whether the signal exists, and a process can handle it. Dispatch traps for a number that is no signal.
    static func canWatch(_ signal: ProcessSignal) -> Bool {
        var action = sigaction()
        return signal.rawValue != SIGKILL && signal.rawValue != SIGSTOP
            && exchangeAction(signal.rawValue, nil, &action) == 0
    }

    private let signals: Set<ProcessSignal>
    private let sources: Locked<[any DispatchSourceSignal]>
    private let registrations: [OneShot<Void>]

    /// Begins to watch signals. One that arrives before this returns may still have its action.
    static func begin(_ signals: [ProcessSignal], _ receive: @escaping @Sendable () -> Void) async -> SignalWatch {
        let watch = SignalWatch(Set(signals), receive)
        for registration in watch.registrations { try? await registration.value() }
        return watch
    }

    private init(_ signals: Set<ProcessSignal>, _ receive: @escaping @Sendable () -> Void) {
        self.signals = signals
        SignalWatch.replaced.withLock { replaced in
            for signal in signals {
                if replaced[signal.rawValue] != nil {
                    replaced[signal.rawValue]?.count += 1
                } else {
                    var action = sigaction()
                    _ = SignalWatch.exchangeAction(signal.rawValue, nil, &action)
                    replaced[signal.rawValue] = Replaced(count: 1, action: action)
                }
            }
        }
        let registrations = signals.map { _ in OneShot<Void>() }
        self.registrations = registrations
        sources = Locked(
            zip(signals, registrations).map { signal, registration in
                let source = DispatchSource.makeSignalSource(signal: signal.rawValue, queue: .global())
                source.setRegistrationHandler { registration.provide(()) }
                source.setEventHandler(handler: receive)
                source.resume()
                return source
            })
    }

    func end() {
        for source in sources.withLock({ $0 }) { source.cancel() }
        SignalWatch.replaced.withLock { replaced in
            for signal in signals {
                guard var entry = replaced[signal.rawValue] else { continue }
                entry.count -= 1
                replaced[signal.rawValue] = entry.count == 0 ? nil : entry
                if entry.count == 0 {
                    var action = entry.action
                    _ = SignalWatch.exchangeAction(signal.rawValue, &action, nil)
                }
            }
        }
    }
}
