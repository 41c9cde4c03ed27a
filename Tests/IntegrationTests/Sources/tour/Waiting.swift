import NetKitFoundation

/// Waiting: a timer of an event loop, and name lookups.
enum Waiting {
    static func fireTimer() async -> String {
        let start = ContinuousClock.now
        var timer: LoopTimer?
        await withCheckedContinuation { continuation in
            timer = EventLoop.shared.schedule(at: .now + .milliseconds(5)) { continuation.resume() }
        }
        let time = start.duration(to: .now)
        return withExtendedLifetime(timer) {
            "a timer of 5 ms fired after \(milliseconds(time)), on the shared event loop"
        }
    }

    static func lookUp() async throws -> String {
        let addresses = try await SystemResolver.shared.addresses(of: "localhost", until: .now + .seconds(5))
        let found = addresses.map(\.description).joined(separator: ", ")
        do {
            _ = try await SystemResolver.shared.addresses(of: "no such name")
        } catch {
            return "localhost is \(found); and: \(error)"
        }
        throw Surprise("'no such name' was resolved")
    }

    static func milliseconds(_ time: Duration) -> String {
        let tenths = time.components.seconds * 10_000 + time.components.attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
