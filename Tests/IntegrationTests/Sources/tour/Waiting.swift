import NetKitFoundation

/// How everything waits, and for whom.
enum Waiting {
    static func ring() async -> String {
        let start = ContinuousClock.now
        var timer: LoopTimer?
        await withCheckedContinuation { continuation in
            timer = EventLoop.shared.schedule(at: .now + .milliseconds(5)) { continuation.resume() }
        }
        let time = start.duration(to: .now)
        return withExtendedLifetime(timer) {
            "a timer of 5 ms rang after \(milliseconds(time)), on the loop that all waiting shares"
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
        throw Surprise("'no such name' is one")
    }

    static func milliseconds(_ time: Duration) -> String {
        let tenths = time.components.seconds * 10_000 + time.components.attoseconds / 100_000_000_000_000
        return "\(tenths / 10).\(tenths % 10) ms"
    }
}
