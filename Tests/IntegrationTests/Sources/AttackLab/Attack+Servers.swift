/// Clients that attack a server.
extension Attack {
    /// Attacks by clients.
    public static let servers: [Attack] = [
        Attack(
            "server-head-drip", "64 connections whose requests come at 20 bytes a second", origin: "slowloris",
            on: .server(isSecure: false)),
        Attack(
            "server-body-drip", "64 connections whose bodies come at 20 bytes a second", origin: "slow POST",
            on: .server(isSecure: false)),
        Attack(
            "server-never-reads", "16 clients that ask for 32 MiB and read nothing", origin: "slow read",
            on: .server(isSecure: false)),
        Attack("server-fields", "requests of ever more fields", origin: "CVE-2026-28980", on: .server(isSecure: false)),
        Attack("server-empty-lines", "empty lines in front of a request", on: .server(isSecure: false)),
        Attack(
            "server-pipelining", "requests at full speed, without waiting for answers", on: .server(isSecure: false)),
        Attack("server-one-chunk-per-byte", "bodies in chunks of one byte", on: .server(isSecure: false)),
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
            "server-renegotiation", "renegotiation without an end", origin: "CVE-2011-1473", by: .tls,
            on: .server(isSecure: true)),
    ]
}
