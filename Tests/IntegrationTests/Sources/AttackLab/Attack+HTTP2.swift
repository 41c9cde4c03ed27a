internal import NetKit

/// Servers that attack clients of HTTP/2.
extension Attack {
    /// Frames of HTTP/2 without an end, and connections without a response.
    public static let http2: [Attack] = [
        row("http2-body", "a body without an end, as fast as the windows permit", ending: .either),
        row("http2-one-byte-frames", "a body in frames of one byte", ending: .either),
        crowd("http2-one-byte-frames", "a body in frames of one byte", ending: .either),
        row("http2-empty-frames", "a body of ever more empty frames", origin: "CVE-2019-9518"),
        row("http2-interim-responses", "interim responses without an end"),
        row("http2-continuations", "a head without an end", origin: "CVE-2024-27316"),
        row("http2-header-bomb", "heads of 16 KB that mean 64 MB", origin: "CVE-2016-6581"),
        row("http2-pings", "PING frames at full speed", origin: "CVE-2019-9512"),
        crowd("http2-pings", "PING frames at full speed", origin: "CVE-2019-9512"),
        row("http2-settings", "SETTINGS frames at full speed", origin: "CVE-2019-9515"),
        row("http2-priorities", "PRIORITY frames at full speed", origin: "CVE-2019-9513"),
        row("http2-credit", "WINDOW_UPDATE frames at full speed"),
        row("http2-pushes", "pushes that the client has forbidden"),
        row("http2-body-drip", "a body without an end, 50 bytes a second", ending: .either),
        row("http2-head-drip", "a head without an end, 50 bytes a second"),
        row("http2-refusals", "each request is refused, as if it could be repeated"),
        row("http2-goodbyes", "each connection ends as if the request had not arrived"),
        row("http2-silence", "nothing, not even settings"),
    ]

    private static func row(
        _ name: String, _ summary: String, origin: String = "", ending: Ending = .failure
    ) -> Attack {
        Attack(name, summary, origin: origin, ending: ending, on: .client(load))
    }

    private static func crowd(
        _ mode: String, _ summary: String, origin: String = "", ending: Ending = .failure
    ) -> Attack {
        Attack(
            mode + "-crowd", summary + ", on 10 connections", origin: origin, mode: mode, ending: ending,
            on: .client { scene in try await crowd(10) { try await load(scene) } })
    }

    @Sendable private static func load(_ scene: AttackScene) async throws {
        try await load(scene) { stream, _ in try stream.set(.http(\.versions), to: .http2) }
    }
}
