import Foundation
import HTTPMessage
import NetKit
import Peers
import StreamKit
import Testing

/// Loads whose proxies are chosen by a script from a server, run by the engine of this machine (SK-130).
@Suite(.serialized) struct ProxyScriptTests {
    /// Puts a script on nginx. Returns settings that use it, also for loopback hosts.
    private func settings(_ nginx: Nginx, _ name: String, _ decision: String) throws -> ProxySettings {
        let script = "function FindProxyForURL(url, host) { \(decision) }"
        try nginx.write("\(name).pac", Array(script.utf8))
        var settings = ProxySettings()
        settings.script = .url(nginx.url(.plain, "/\(name).pac"))
        settings.bypassesLoopback = false
        return settings
    }

    @Test("The first proxy of a script is dead, the second works; in every style", arguments: Style.allCases)
    func theNextProxyOfAScriptIsUsed(_ style: Style) async throws {
        let nginx = try SharedNginx.get()
        let squid = Squid()
        try await startedElsewhere(squid)
        let dead = try UnansweredPort.closed()
        let both = "return 'PROXY 127.0.0.1:\(dead); PROXY 127.0.0.1:\(squid.port)';"
        let settings = try settings(nginx, "both-\(style)", both)
        for listener in [HTTPListener.plain, .tls] {
            let loaded = try await get(nginx.url(listener, "/hello"), style) {
                try $0.set(.http(\.proxySettings), to: settings)
                try $0.trustPeers()
            }
            #expect(loaded.error == nil)
            #expect(loaded.text == "hello\n")
            if listener == .tls { #expect(loaded.stream[.httpProxyResponse]?.status.code == 200) }
        }
        let onlyDead = try self.settings(nginx, "dead-\(style)", "return 'PROXY 127.0.0.1:\(dead)';")
        let refused = try await get(nginx.url(.plain, "/hello"), style) {
            try $0.set(.http(\.proxySettings), to: onlyDead)
        }
        #expect(refused.error?.isPOSIX(111) == true)
        squid.stop()
    }

    @Test("The script is run for each URL of a chain of redirects")
    func theScriptIsRunForEachRedirect() async throws {
        let nginx = try SharedNginx.get()
        let dead = try UnansweredPort.closed()
        let settings = try settings(
            nginx, "redirects", "return url.indexOf('/hello') > 0 ? 'PROXY 127.0.0.1:\(dead)' : 'DIRECT';")
        let loaded = try await get(nginx.url(.plain, "/chain")) {
            try $0.set(.http(\.proxySettings), to: settings)
            try $0.set(.http(\.followsRedirects), to: true)
            try $0.set(.tls, to: try trustingPeers())
        }
        #expect(loaded.error?.isPOSIX(111) == true, "three redirects directly, the last URL through a dead proxy")
    }

    // Parity: SK-130 (nginx)
    @Test("SK-130: a missing, a protected and an invalid script: errors 308 and 309, and no direct connection")
    func invalidScriptsAreErrors() async throws {
        let nginx = try SharedNginx.get()
        for (path, code, words) in [
            ("/no-such.pac", 308, "responded with 404"), ("/basic/hello", 309, "responded with 401"),
            ("/hello", 308, "script"),
        ] {
            var settings = ProxySettings()
            settings.bypassesLoopback = false
            settings.script = .url(nginx.url(.plain, path))
            let loaded = try await get(nginx.url(.plain, "/hello")) { try $0.set(.http(\.proxySettings), to: settings) }
            #expect(loaded.error?.domain == .http && loaded.error?.code == code, "\(path)")
            #expect(loaded.error?.description.contains(words) == true, "\(loaded.error?.description ?? "")")
        }
        var settings = ProxySettings()
        settings.bypassesLoopback = false
        settings.script = .url("http://127.0.0.1:\(try UnansweredPort.closed())/p.pac")
        let loaded = try await get(nginx.url(.plain, "/hello")) { try $0.set(.http(\.proxySettings), to: settings) }
        #expect(loaded.error?.code == 308 && loaded.error?.description.contains("refused") == true)
    }

    @Test("A script on a server of a private authority is loaded only by settings that trust it")
    func theScriptServerMustBeTrusted() async throws {
        let nginx = try SharedNginx.get()
        var settings = try settings(nginx, "private", "return 'PROXY private:1';")
        settings.script = .url(nginx.url(.tls, "/private.pac"))
        let strangers = settings
        settings.tls = try trustingPeers()
        let url = try #require(URL(string: "http://www.example/"))
        let store = ProxyScriptStore()
        for _ in 0..<2 {
            let choices = try await settings.resolvedChoices(for: url, scripts: store)
            #expect(choices.map(\.description) == ["http://private:1"])
            // The script that one configuration loaded is not reused for the other.
            let error = await #expect(throws: StreamError.self) {
                try await strangers.resolvedChoices(for: url, scripts: store)
            }
            #expect(error?.domain == .http && error?.code == 308)
            #expect((error?.underlying as? StreamError)?.domain == .ssl)
        }
        // The same with an HTTP stream.
        let direct = try self.settings(nginx, "private", "return 'DIRECT';")
        settings.script = .url(nginx.url(.tls, "/private.pac"))
        settings.bypassesLoopback = direct.bypassesLoopback
        ProxyScriptStore.shared.forget()
        let loaded = try await get(nginx.url(.plain, "/hello")) { try $0.set(.http(\.proxySettings), to: settings) }
        #expect(loaded.error == nil && loaded.text == "hello\n")
        let refused = try await get(nginx.url(.plain, "/hello")) { try $0.set(.http(\.proxySettings), to: strangers) }
        #expect(refused.error?.code == 308)
    }

    @Test("A script is loaded once, until it is removed or expires")
    func aScriptIsLoadedOnce() async throws {
        let nginx = try SharedNginx.get()
        let settings = try settings(nginx, "kept", "return 'PROXY kept:1';")
        let url = try #require(URL(string: "http://www.example/"))
        let store = ProxyScriptStore()
        #expect(try await settings.resolvedChoices(for: url, scripts: store).map(\.description) == ["http://kept:1"])
        _ = try self.settings(nginx, "kept", "return 'PROXY new:1';")
        #expect(try await settings.resolvedChoices(for: url, scripts: store).map(\.description) == ["http://kept:1"])
        store.forget()
        #expect(try await settings.resolvedChoices(for: url, scripts: store).map(\.description) == ["http://new:1"])
        let brief = ProxyScriptStore(lifetime: .zero)
        #expect(try await settings.resolvedChoices(for: url, scripts: brief).map(\.description) == ["http://new:1"])
        _ = try self.settings(nginx, "kept", "return 'DIRECT';")
        #expect(try await settings.resolvedRoutes(for: url, scripts: brief) == [.direct])
    }
}

/// Starts a peer on a thread that does not run tasks.
private func startedElsewhere(_ peer: some Peer) async throws {
    try await onThread { Result { try peer.start() } }.get()
}
