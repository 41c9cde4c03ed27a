/// Clients that attack a server.
extension Attack {
    /// Attacks by clients.
    public static let servers: [Attack] =
        [
            Attack(
                "server-head-drip", "64 connections whose requests come at 20 bytes a second", origin: "slowloris",
                on: .server(isSecure: false)),
            Attack(
                "server-body-drip", "64 connections whose bodies come at 20 bytes a second", origin: "slow POST",
                on: .server(isSecure: false)),
            Attack(
                "server-never-reads", "16 clients that ask for 32 MiB and read nothing", origin: "slow read",
                on: .server(isSecure: false)),
            Attack(
                "server-fields", "requests of ever more fields", origin: "CVE-2026-28980", on: .server(isSecure: false)),
            Attack("server-empty-lines", "empty lines in front of a request", on: .server(isSecure: false)),
            Attack(
                "server-pipelining", "requests at full speed, without waiting for answers", on: .server(isSecure: false)
            ),
            Attack(
                "server-pipelining-crowd", "requests at full speed, without waiting for answers, on 20 connections",
                on: .server(isSecure: false)),
            Attack(
                "server-tls-pipelining-crowd", "requests in bursts of 50, on 20 connections over TLS",
                on: .server(isSecure: true)),
            Attack("server-one-chunk-per-byte", "bodies in chunks of one byte", on: .server(isSecure: false)),
            Attack(
                "server-one-chunk-per-byte-crowd", "bodies in chunks of one byte, on 20 connections",
                on: .server(isSecure: false)),
            Attack(
                "server-websocket-pings", "pings at full speed, on 20 connections", on: .server(isSecure: false)),
            Attack(
                "server-websocket-messages", "messages of one byte at full speed, on 20 connections",
                on: .server(isSecure: false)),
            Attack(
                "server-websocket-empty-frames", "a message of ever more empty frames, on 20 connections",
                on: .server(isSecure: false)),
            Attack(
                "server-silent", "more connections than the process has descriptors, which send nothing",
                descriptors: 512,
                on: .server(isSecure: false)),
            Attack(
                "server-half-heads", "more connections than the process has descriptors, which send a part of a head",
                descriptors: 512, on: .server(isSecure: false)),
            Attack(
                "server-no-bodies", "more connections than the process has descriptors, which send a head and no body",
                descriptors: 512, on: .server(isSecure: false)),
            Attack(
                "server-event-streams",
                "more connections than the process has descriptors, which ask for a stream of events and read nothing",
                descriptors: 384, on: .server(isSecure: false)),
            Attack(
                "server-slow-disk",
                "20 clients that request a file with gzip, from a disk that takes 100 ms for each read",
                hasSlowDisk: true, on: .server(isSecure: false)),
            Attack("server-connections", "connections that end after 8 bytes", on: .server(isSecure: false)),
            Attack(
                "server-handshake-drip", "64 handshakes that come at 20 bytes a second", on: .server(isSecure: true)),
            Attack(
                "server-key-updates", "KeyUpdate records and nothing else, after the handshake", by: .tls,
                on: .server(isSecure: true)),
            Attack(
                "server-key-requests", "KeyUpdate records that each request an answer", by: .tls,
                on: .server(isSecure: true)),
            Attack(
                "server-key-requests-crowd", "KeyUpdate records that each request an answer, on 10 connections",
                by: .tls,
                on: .server(isSecure: true)),
            Attack(
                "server-renegotiation", "renegotiation without an end", origin: "CVE-2011-1473", by: .tls,
                on: .server(isSecure: true)),
        ] + http2Servers

    /// What a request costs the victim while its handler runs.
    private static let handlerSize = 12 << 10

    private static let http2Servers: [Attack] = [
        Attack(
            "server-http2-requests", "requests of HTTP/2 at full speed, on 20 connections",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-rapid-reset", "requests that are reset at once, on 20 connections", origin: "CVE-2023-44487",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-made-you-reset", "requests that the server must reset, on 20 connections",
            origin: "CVE-2025-8671", on: .server(isSecure: false)),
        Attack(
            "server-http2-malformed", "malformed requests at full speed, on 20 connections", origin: "CVE-2019-9514",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-never-reads", "16 clients that ask for 800 MiB on 100 streams each and read nothing",
            origin: "CVE-2019-9517", result: 16 * 100 * handlerSize, on: .server(isSecure: false)),
        Attack(
            "server-http2-closed-windows", "16 clients that ask for 800 MiB on 100 streams each and give no credit",
            origin: "CVE-2019-9511", result: 16 * 100 * handlerSize, on: .server(isSecure: false)),
        Attack(
            "server-http2-body-drip", "64 connections with 100 requests each, one body of which comes slowly",
            result: 64 * 100 * handlerSize, on: .server(isSecure: false)),
        Attack(
            "server-http2-head-drip", "64 connections whose heads come at 20 bytes a second",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-one-byte-frames", "a body in frames of one byte, on 20 connections",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-empty-frames", "a body of ever more empty frames, on 20 connections",
            origin: "CVE-2019-9518", on: .server(isSecure: false)),
        Attack(
            "server-http2-continuations", "a head without an end, on 20 connections", origin: "CVE-2024-27316",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-pings", "PING frames at full speed, on 20 connections", origin: "CVE-2019-9512",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-settings", "SETTINGS frames at full speed, on 20 connections", origin: "CVE-2019-9515",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-priorities", "PRIORITY frames at full speed, on 20 connections", origin: "CVE-2019-9513",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-credit", "WINDOW_UPDATE frames at full speed, on 20 connections",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-header-bomb", "heads of 16 KB that mean 64 MB, on 20 connections", origin: "CVE-2016-6581",
            on: .server(isSecure: false)),
        Attack(
            "server-http2-silent",
            "more connections than the process has descriptors, which begin with HTTP/2 and send no request",
            result: 512 * handlerSize, descriptors: 512, on: .server(isSecure: false)),
    ]
}
