import FoundationEssentials
import StreamKitTesting
import Testing

@testable import NetDiag

/// Diagnoses of targets whose proxy a script chooses. The fault lab tests scripts on broken networks.
@Suite struct ProxyScriptDiagnosisTests {
    private let deadEnd: RefusedPort

    init() throws { deadEnd = try RefusedPort() }

    private func diagnose(_ script: ProxyScriptSource, _ url: String = "http://www.example.test/") async throws
        -> Diagnosis
    {
        var options = NetDiagnostic.Options.patient
        var settings = ProxySettings()
        settings.script = script
        options.proxies = settings
        return try await NetDiagnostic(url: URL(string: url)!, options: options).diagnose()
    }

    private func script(_ decision: String) -> ProxyScriptSource {
        .text("function FindProxyForURL(url, host) { \(decision) }")
    }

    @Test func theChosenProxyIsChecked() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(try await diagnose(script("return 'PROXY 127.0.0.1:\(proxy.port)';")).cause == nil)
        #expect(proxy.requests.count == 1)
        #expect(
            try await diagnose(script("return 'PROXY 127.0.0.1:\(deadEnd.port)';")).cause?.code == .proxyUnreachable)
    }

    /// As in a stream, the next proxy is tried if one cannot be reached or is not a proxy, but not if it refuses.
    @Test func theNextProxyIsTriedAndTheFirstIsAWarning() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let noProxy = try AnsweringServer("SSH-2.0-x\r\n\r\n")
        for (first, code) in [(deadEnd.port, .proxyUnreachable), (noProxy.port, .proxyWrong)]
            as [(UInt16, FindingCode)]
        {
            let both = "return 'PROXY 127.0.0.1:\(first); PROXY 127.0.0.1:\(proxy.port)';"
            let diagnosis = try await diagnose(script(both))
            #expect(diagnosis.cause == nil && diagnosis.status == .up)
            #expect(diagnosis.remarks.map(\.code) == [code] && diagnosis.remarks.map(\.severity) == [.warning])
        }
        #expect(proxy.requests.count == 2)
        let refusing = try AnsweringServer("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        let final = "return 'PROXY 127.0.0.1:\(refusing.port); PROXY 127.0.0.1:\(proxy.port)';"
        #expect(try await diagnose(script(final), "https://www.example.test/").cause?.code == .proxyForbids)
        #expect(proxy.requests.count == 2)
        // If no proxy works, the first is the cause.
        let dead = "return 'PROXY 127.0.0.1:\(deadEnd.port); PROXY 127.0.0.1:\(noProxy.port)';"
        #expect(try await diagnose(script(dead)).cause?.code == .proxyUnreachable)
    }

    @Test(arguments: ["return nothing.here;", "return 'GOPHER x';", "syntax error", "return '';"])
    func aBrokenScript(_ decision: String) async throws {
        let diagnosis = try await diagnose(script(decision))
        #expect(diagnosis.cause?.code == .proxyScriptBroken || diagnosis.brokenRung ?? .proxy < .proxy, "\(diagnosis)")
        #expect(diagnosis.unchecked.contains(.connection) && !diagnosis.unchecked.contains(.proxy))
    }

    @Test func aScriptFromAServer() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let text = "function FindProxyForURL(url, host) { return 'PROXY 127.0.0.1:\(proxy.port)'; }"
        let server = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        let place = ProxyScriptSource.url("http://ann:hunter2@127.0.0.1:\(server.port)/proxy.pac?key=hunter3")
        let diagnosis = try await diagnose(place)
        #expect(diagnosis.cause == nil)
        // The query is part of the script's URL and is sent; the password is not.
        let request = try #require(server.requests.first, "\(diagnosis)")
        #expect(server.requests.count == 1 && request.hasPrefix("GET /proxy.pac?key=hunter3 HTTP/1.1\r\n"))
        #expect(!request.lowercased().contains("authorization"))
    }

    @Test(
        arguments: [
            ("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", .proxyScriptUnreachable),
            ("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n", .proxyScriptUnreachable),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\ncut", .proxyScriptUnreachable),
            ("HTTP/1.1 200 OK\r\n\r\n<html>", .proxyScriptBroken), ("SSH-2.0-x\r\n\r\n", .proxyScriptUnreachable),
        ] as [(String, FindingCode)])
    func aServerWithoutAScript(_ answer: String, _ code: FindingCode) async throws {
        let server = try AnsweringServer(answer)
        let diagnosis = try await diagnose(.url("http://127.0.0.1:\(server.port)/proxy.pac?key=hunter2"))
        let found = [diagnosis.cause].compactMap(\.self) + diagnosis.consequences
        #expect(found.map(\.code).contains(code), "\(diagnosis)")
        #expect(!"\(diagnosis)".contains("hunter2"))
    }

    /// A redirect of the script's server is not followed; the diagnosis reports what it could not check.
    @Test func aRedirectedScript() async throws {
        let other = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let server = try AnsweringServer(
            "HTTP/1.1 301 Go\r\nLocation: http://localhost:\(other.port)/x\r\nContent-Length: 0\r\n\r\n")
        let diagnosis = try await diagnose(.url("http://127.0.0.1:\(server.port)/proxy.pac"))
        #expect(diagnosis.remarks.map(\.code).contains(.proxyScript))
        #expect(diagnosis.uncheckable.map(\.key).contains("diag.proxyScript"))
        #expect(diagnosis.unchecked.contains(.proxy) && other.requests.isEmpty)
    }

    /// The target's query may hold a secret, which a script could send anywhere by looking up a name.
    @Test func scriptsDoNotReceiveTheQuery() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let choice = "return 'PROXY 127.0.0.1:' + (url.indexOf('hunter2') < 0 ? \(proxy.port) : \(deadEnd.port));"
        #expect(
            try await diagnose(script(choice), "http://ann:hunter2@www.example.test/?t=hunter2#hunter2").cause == nil)
    }

    @Test func settingsWithSeveralProxies() async throws {
        let proxy = try AnsweringServer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        var options = NetDiagnostic.Options.patient
        var settings = ProxySettings()
        settings.http = [ProxyServer(.http, host: "127.0.0.1", port: deadEnd.port)]
        settings.others = [ProxyServer(.http, host: "127.0.0.1", port: proxy.port)]
        options.proxies = settings
        let diagnosis = try await NetDiagnostic(url: URL(string: "http://www.example.test/")!, options: options)
            .diagnose()
        #expect(diagnosis.cause == nil && diagnosis.remarks.map(\.code) == [.proxyUnreachable])
    }
}
