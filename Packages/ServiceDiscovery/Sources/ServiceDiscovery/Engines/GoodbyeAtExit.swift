internal import EventLoops
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

    /// Adds an engine. Idempotent.
    static func add(_ engine: EmbeddedEngine) {
        _ = isRegistered
        engines.withLock { engines in
            engines.removeAll { $0.engine == nil }
            if !engines.contains(where: { $0.engine === engine }) { engines.append(WeakEngine(engine: engine)) }
        }
    }

    private static func send() {
        for entry in engines.withLock({ $0 }) { entry.engine?.sendGoodbyes() }
    }
}
