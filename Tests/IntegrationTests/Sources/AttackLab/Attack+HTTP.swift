internal import Foundation
@_spi(Packages) internal import HostResolverTesting
internal import NetKit

/// Servers that attack HTTP clients, and the layers below HTTP.
extension Attack {
    /// TLS records without content, and invalid ends.
    public static let tls: [Attack] = [
        Attack(
            "tls-key-updates", "KeyUpdate records and nothing else, after the handshake",
            origin: "OpenSSL's AUTO_RETRY",
            by: .tls, ending: .failure, on: .client(load)),
        Attack(
            "tls-key-updates-crowd", "KeyUpdate records and nothing else, on 10 connections",
            origin: "OpenSSL's AUTO_RETRY", by: .tls, mode: "tls-key-updates", ending: .failure,
            on: .client { scene in try await crowd(10) { try await load(scene) } }),
        Attack(
            "tls-key-requests", "KeyUpdate records that each request an answer", origin: "CVE-2020-1967 and its kind",
            by: .tls, ending: .failure, on: .client(load)),
        Attack(
            "tls-key-requests-crowd", "KeyUpdate records that each request an answer, on 10 connections",
            origin: "CVE-2020-1967 and its kind", by: .tls, mode: "tls-key-requests", ending: .failure,
            on: .client { scene in try await crowd(10) { try await load(scene) } }),
        Attack(
            "tls-session-tickets", "session tickets and nothing else", origin: "OpenSSL's AUTO_RETRY", by: .tls,
            ending: .failure, on: .client(load)),
        Attack(
            "tls-truncation", "the connection ends in the middle of a body, without close_notify",
            origin: "TLS truncation", by: .tls, ending: .failure, on: .client(load)),
    ]

    /// Messages without an end, or that cost more than their size suggests.
    public static let http: [Attack] = [
        Attack("http-body", "a body without an end, at full speed", on: .client(load)),
        Attack("http-body-one-chunk-per-byte", "chunks of one byte", on: .client(load)),
        Attack("http-body-drip", "a body without an end, 50 bytes a second", on: .client(load)),
        Attack("http-head-drip", "a head without an end, 50 bytes a second", ending: .failure, on: .client(load)),
        Attack(
            "http-fields", "a head of ever more fields", origin: "CVE-2023-38039, CVE-2026-28980", ending: .failure,
            on: .client(load)),
        Attack("http-line", "a field without an end", origin: "CVE-2023-38039", ending: .failure, on: .client(load)),
        Attack("http-empty-lines", "empty lines in front of a response", ending: .failure, on: .client(load)),
        Attack("http-interim-responses", "interim responses without an end", ending: .failure, on: .client(load)),
        Attack("http-chunk-extension", "a chunk extension without an end", ending: .failure, on: .client(load)),
        Attack("http-chunk-size", "a chunk size of ever more zeros", ending: .failure, on: .client(load)),
        Attack("http-trailers", "ever more trailers", origin: "CVE-2023-38039", ending: .failure, on: .client(load)),
        Attack(
            "gzip-empty-members", "gzip members that decode to nothing", origin: "CVE-2023-23916 and its kind",
            on: .client(decodedLoad)),
        Attack(
            "gzip-empty-members-crowd", "gzip members that decode to nothing, on 5 connections",
            origin: "CVE-2023-23916 and its kind", mode: "gzip-empty-members",
            on: .client { scene in try await crowd(5) { try await decodedLoad(scene) } }),
        Attack("gzip-empty-blocks", "stored blocks of no bytes", on: .client(decodedLoad)),
        Attack(
            "gzip-bomb", "a thousand times as many bytes as were sent", origin: "CVE-2023-23916, CVE-2026-42587",
            on: .client(decodedLoad)),
        Attack(
            "gzip-of-gzip", "65 nested content codings", origin: "CVE-2023-23916", on: .client(decodedLoad)),
        Attack("redirect-loop", "redirects without an end", ending: .failure, on: .client(redirectedLoad)),
        Attack("redirect-body", "a redirect whose body has no end", ending: .failure, on: .client(redirectedLoad)),
        Attack(
            "http-descriptors", "20 loads in a process without a free descriptor, and one after that", mode: "honest",
            ending: .success, descriptors: 256, on: .client(loadsWithoutDescriptors)),
        Attack(
            "redirect-body-drip", "a redirect whose body comes at 50 bytes a second", ending: .failure,
            on: .client { try await session($0) }),
    ]

    /// Proxies, and scripts that choose them.
    public static let proxies: [Attack] = [
        Attack(
            "proxy-head", "a proxy's answer to CONNECT, with ever more fields", origin: "CVE-2022-42915",
            ending: .failure,
            on: .client {
                try await load($0, "https://peers.test/") { try $0.set(.http(\.proxySettings), to: $1.proxy()) }
            }
        ),
        Attack(
            "proxy-login-body", "a proxy's refusal of CONNECT, whose body has no end",
            on: .client {
                try await load($0, "https://peers.test/") { try $0.set(.http(\.proxySettings), to: $1.proxy()) }
            }
        ),
        Attack(
            "proxy-login-unasked", "a proxy that does not require a login", origin: "CVE-2026-3784 and its kind",
            on: .client {
                try await load($0, "http://peers.test/") {
                    try $0.set(.http(\.proxySettings), to: $1.proxy("ann:secret@"))
                }
            }),
        Attack(
            "socks-drip", "a SOCKS reply that comes at 5 bytes a second", origin: "CVE-2023-38545", ending: .failure,
            on: .client {
                try await load($0, "http://peers.test/") { stream, scene in
                    try stream.set(.socksProxy, to: SOCKSProxy(host: "127.0.0.1", port: scene.port))
                }
            }),
        Attack(
            "proxy-script-fifo", "a proxy script that is a FIFO without a writer", by: .none, ending: .failure,
            on: .client { scene in
                let path = "\(scene.folder)/proxy.pac"
                mkfifo(path, 0o600)
                var settings = ProxySettings()
                settings.script = .url("file://\(path)")
                try await withThrowingTaskGroup { [settings] group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await load(scene, "http://peers.test/") { stream, _ in
                                try stream.set(.http(\.proxySettings), to: settings)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }),
    ]
}

extension AttackScene {
    /// Settings that use the peer as a proxy for everything.
    func proxy(_ login: String = "") throws -> ProxySettings {
        var settings = ProxySettings()
        let server = try ProxyServer("http://\(login)127.0.0.1:\(port)")
        settings.http = [server]
        settings.https = [server]
        return settings
    }
}

extension Attack {
    /// Loads a URL to its end or failure.
    static func load(
        _ scene: AttackScene, _ address: String? = nil,
        _ prepare: (ReadStream, AttackScene) throws -> Void = { _, _ in }
    ) async throws {
        let isTLS = !scene.root.isEmpty
        let own = "\(isTLS ? "https" : "http")://localhost:\(scene.port)/"
        guard let url = URL(string: address ?? own) else { return }
        let stream = try ReadStream(httpURL: url)
        if isTLS { try stream.set(.tls, to: scene.tls()) }
        try stream.set(.http(\.totalTimeout), to: AttackScene.limit)
        try prepare(stream, scene)
        try stream.open()
        try await scene.drain(stream)
    }

    @Sendable private static func load(_ scene: AttackScene) async throws {
        try await load(scene, nil)
    }

    @Sendable private static func decodedLoad(_ scene: AttackScene) async throws {
        try await load(scene) { stream, _ in try stream.set(.http(\.decodesContent), to: true) }
    }

    /// Runs an operation several times at once; throws if all of them have failed.
    static func crowd(_ count: Int, _ operation: @escaping @Sendable () async throws -> Void) async throws {
        let failures = await withTaskGroup { group in
            for _ in 0..<count {
                group.addTask { () -> (any Error)? in
                    do {
                        try await operation()
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.compactMap(\.self).reduce(into: [any Error]()) { $0.append($1) }
        }
        if let failure = failures.last, failures.count == count { throw failure }
    }

    /// Each load fails while the process has no descriptor left, and succeeds afterwards.
    ///
    /// libdispatch counts its busy threads once a second, and ends a process that has no descriptor for that: the loads run on the
    /// loop's thread, and most of the time descriptors are free.
    @Sendable private static func loadsWithoutDescriptors(_ scene: AttackScene) async throws {
        try await withTaskExecutorPreference(EventLoop.shared) {
            let succeeded = await withoutDescriptors {
                for _ in 0..<20 {
                    do {
                        try await load(scene)
                        return true
                    } catch {
                        // The others must fail as well.
                    }
                }
                return false
            }
            if succeeded { throw Breach(description: "a load without a descriptor") }
            try await load(scene)
            try await EventLoop.shared.sleep(for: .milliseconds(200))
        }
    }

    /// Runs an operation while all descriptors of the process are in use, but those that libdispatch keeps.
    private static func withoutDescriptors(_ operation: () async -> Bool) async -> Bool {
        DescriptorLimit.startDispatch()
        var held: [CInt] = []
        while case let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC), descriptor >= 0 { held.append(descriptor) }
        defer { for descriptor in held { close(descriptor) } }
        return await operation()
    }

    @Sendable private static func redirectedLoad(_ scene: AttackScene) async throws {
        try await load(scene) { stream, _ in try stream.set(.http(\.followsRedirects), to: true) }
    }
}
