@_spi(Packages) internal import EventLoops
internal import Glibc

/// Sends the goodbyes of published services when the program ends in order: when it returns from `main` or calls `exit`.
///
/// Engines register with their first publication. The C library calls the function once, on the thread that ends the program, while
/// the other threads still run. A program that is killed, aborts or calls `_exit` sends no goodbye; its records expire (RFC 6762 §10).
enum GoodbyeAtExit {
    private struct WeakEngine {
        weak var engine: EmbeddedEngine?
    }

    private static let engines = Locked<[WeakEngine]>([])

    private static let isRegistered = atexit { GoodbyeAtExit.send() } == 0

    /// The process that publishes. One that it has forked calls the function as well when it ends, but the services are not its own, and
    /// a lock that another thread held at the fork stays held.
    private static let process = getpid()

    /// Adds an engine. Idempotent.
    static func add(_ engine: EmbeddedEngine) {
        _ = process
        _ = isRegistered
        engines.withLock { engines in
            engines.removeAll { $0.engine == nil }
            if !engines.contains(where: { $0.engine === engine }) { engines.append(WeakEngine(engine: engine)) }
        }
    }

    private static func send() {
        for engine in publishing(in: getpid()) { engine.sendGoodbyes() }
    }

    /// The engines whose services a process withdraws when it ends.
    static func publishing(in current: pid_t) -> [EmbeddedEngine] {
        guard current == process else { return [] }
        return engines.withLock { $0 }.compactMap(\.engine)
    }
}
