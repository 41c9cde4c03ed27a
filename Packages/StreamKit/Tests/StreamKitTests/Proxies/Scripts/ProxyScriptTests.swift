import EventLoops
import FoundationEssentials
import Glibc
import HostResolverTesting
import Testing

@testable import StreamKit
@testable import StreamProxies

/// Running scripts in each engine (SK-129, SK-130).
@Suite(.timeLimit(.minutes(5))) struct ProxyScriptTests {
    private static let branches = """
        function FindProxyForURL(url, host) {
            if (isPlainHostName(host)) return "DIRECT";
            if (shExpMatch(host, "*.internal.example")) return "SOCKS5 inner:1081; DIRECT";
            if (isInNet(host, "10.0.0.0", "255.0.0.0")) return "PROXY ten:3128";
            if (url.substring(0, 6) == "https:") return url == "https://" + host + "/" ? "HTTPS secure:8443" : "PROXY leak:1";
            return url.indexOf("'") < 0 ? "PROXY first:3128; PROXY second:3128" : "PROXY leak:1";
        }
        """

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    // Parity: SK-129
    @Test(
        arguments: [
            ("http://printer/", "direct"),
            ("http://a.internal.example/", "socks5h://inner:1081 direct"),
            ("http://10.1.2.3/", "http://ten:3128"),
            ("https://www.example/secret?token=1", "https://secure:8443"),
            ("http://me:secret@www.example/it's", "http://first:3128 http://second:3128"),
        ], ProxyScriptEngine.allCases)
    func decides(_ example: (url: String, expected: String), _ engine: ProxyScriptEngine) async throws {
        let script = try Self.patient(Self.branches, engine)
        let url = try Self.url(example.url)
        #expect(try await script.choices(for: url).map(\.description).joined(separator: " ") == example.expected)
        let blocking = try await onThread { try script.choices(for: url) }
        #expect(blocking.map(\.description).joined(separator: " ") == example.expected)
    }

    /// Each failure has a message of its own.
    // Parity: SK-129
    @Test(
        arguments: [
            ("function FindProxyForURL(url, host) {", "cannot be read"),
            ("var x = 1;", "failed"),
            ("function FindProxyForURL(url, host) { return nothing.here; }", "failed"),
            ("function FindProxyForURL(url, host) { return \"WEASEL a:1\"; }", "“WEASEL a:1”, which names no proxy"),
            (
                "function FindProxyForURL(url, host) { var a = 'DIRECT;'; while (a.length < 20000) a += a; return a; }",
                "longer than the limit of 16384"
            ),
        ], ProxyScriptEngine.allCases)
    func fails(_ example: (text: String, words: String), _ engine: ProxyScriptEngine) async throws {
        let script = try Self.patient(example.text, engine)
        let url = try Self.url("http://www.example/")
        let error = await #expect(throws: StreamError.self) { _ = try await script.choices(for: url) }
        #expect(error?.domain == .http && error?.code == 308)
        #expect(error?.description.contains(example.words) == true, "\(error?.description ?? "")")
    }

    /// Makes a script that may run for as long as a slow machine needs.
    private static func patient(_ text: String, _ engine: ProxyScriptEngine? = nil) throws -> ProxyScript {
        var script = try ProxyScript(text)
        script.timeout = .seconds(300)
        if let engine { script.engines = [engine] }
        return script
    }

    @Test("Scripts in today's JavaScript need JavaScriptCore, and libpacparser's errors say so")
    func todaysJavaScript() async throws {
        let text = """
            const proxies = new Map([["a", 1], ["b", 2]]);
            let all = [];
            for (const [name, port] of proxies) all.push(`PROXY ${name}:${port}`);
            class Rule { matches = (host) => host.endsWith(".example") && [..."xyz"].includes("z"); }
            const FindProxyForURL = (url, host) => new Rule().matches(host) ? all.join("; ") : null ?? "DIRECT";
            """
        let url = try Self.url("http://www.example/")
        for script in [try Self.patient(text), try Self.patient(text, .javaScriptCore)] {
            #expect(try await script.choices(for: url).map(\.description) == ["http://a:1", "http://b:2"])
        }
        for decision in ["let x = () => 1; return x();", "return host.endsWith('x') ? 'DIRECT' : 'DIRECT';"] {
            let old = try Self.patient("function FindProxyForURL(url, host) { \(decision) }", .pacparser)
            let error = await #expect(throws: StreamError.self) { _ = try await old.choices(for: url) }
            #expect(error?.description.contains("libjavascriptcoregtk") == true, "\(error?.description ?? "")")
        }
    }

    @Test func isAvailable() async throws {
        try await ProxyScript.checkAvailability(timeout: .seconds(100))
        try await onThread { try ProxyScript.checkAvailability(timeout: .seconds(100)) }
        var without = try Self.patient("")
        without.engines = []
        let script = without
        let url = try Self.url("http://www.example/")
        let error = await #expect(throws: StreamError.self) { _ = try await script.choices(for: url) }
        #expect(error?.description.contains("Install the Debian package") == true)
    }

    @Test("A script that never ends is ended, with async and blocking calls", arguments: ProxyScriptEngine.allCases)
    func endless(_ engine: ProxyScriptEngine) async throws {
        var script = try ProxyScript("function FindProxyForURL(url, host) { while (true); }")
        script.timeout = .milliseconds(50)
        script.engines = [engine]
        let url = try Self.url("http://www.example/")
        let slow = script
        let error = await #expect(throws: StreamError.self) { _ = try await slow.choices(for: url) }
        #expect(error?.description.contains("exceeded its time limit of 0.05 seconds") == true)
        #expect((error?.underlying as? StreamError) == .timedOut)
        let blocking = script
        await #expect(throws: StreamError.self) { try await onThread { _ = try blocking.choices(for: url) } }
    }

    @Test("A process has ended and been reaped, whether or not its answer was read")
    func leavesNothing() async throws {
        let url = try Self.url("http://www.example/")
        for text in ["return 'DIRECT';", "while (true);"] {
            let script = try Self.patient("function FindProxyForURL(url, host) { \(text) }")
            let question = try #require(ProxyScriptQuestion(url))
            for reads in [true, false] where !(reads && text.hasPrefix("while")) {
                let number = try await { () async throws -> Int32 in
                    let process = try ProxyScriptProcess(limit: script.timeout)
                    let conversation = ProxyScriptConversation(script.text, question)
                    if reads { _ = try await process.choices(conversation, resolver: ScriptedResolver()) }
                    return process.process
                }()
                #expect(kill(number, 0) == -1 && errno == ESRCH)
            }
        }
    }

    @Test(
        "A script that allocates endlessly stays within its own limit",
        arguments: [
            "var a = ['x']; while (true) a = a.concat(a);",
            "var a = []; while (true) a.push({});",
            "var a = [], n = 0; while (true) { var o = {}; o['p' + n++] = 1; a.push(o); }",
            "var a = 'x'; while (true) a += a + 'y';",
            "var a = []; while (true) a.push(new Array(100000).join('x') + a.length);",
        ], ProxyScriptEngine.allCases)
    func greedy(_ statements: String, _ engine: ProxyScriptEngine) async throws {
        let script = try Self.patient("function FindProxyForURL(url, host) { \(statements) }", engine)
        let url = try Self.url("http://www.example/")
        let error = await #expect(throws: StreamError.self) { _ = try await script.choices(for: url) }
        #expect(error?.code == 308)
    }

    @Test("Memory outside the engine's heap is limited, too")
    func greedyForBuffers() async throws {
        let text =
            "function FindProxyForURL(url, host) { var a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1)); }"
        let script = try Self.patient(text, .javaScriptCore)
        let url = try Self.url("http://www.example/")
        let error = await #expect(throws: StreamError.self) { _ = try await script.choices(for: url) }
        #expect(error?.code == 308)
    }

    @Test func cancelled() async throws {
        let script = try ProxyScript("function FindProxyForURL(url, host) { while (true); }")
        let url = try Self.url("http://www.example/")
        let task = Task { try await script.choices(for: url) }
        task.cancel()
        await #expect(throws: StreamError.cancelled) { try await task.value }
    }

    @Test("A script does not decide about a name whose lookup was cancelled") func cancelledLookup() async throws {
        let script = try Self.patient(
            "function FindProxyForURL(url, host) { return dnsResolve(host) ? 'DIRECT' : 'PROXY p:1'; }", .javaScriptCore
        )
        let resolver = ScriptedResolver()
        resolver.script("www.example", [.fail(.cancelled)])
        let question = ProxyScriptQuestion(url: "http://www.example/", host: "www.example")
        await #expect(throws: StreamError.cancelled) {
            try await script.choices(about: question, resolver: resolver, turns: ProxyScriptTurns())
        }
    }

    @Test("More scripts than may run at once: each returns its own answer")
    func many() async throws {
        let url = try Self.url("http://www.example/")
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 1...3 * ProxyScript.maximumProcesses {
                group.addTask {
                    let script = try Self.patient("function FindProxyForURL(u, h) { return 'PROXY p:\(number)'; }")
                    return try await script.choices(for: url) == [
                        .server(ProxyServer(.http, host: "p", port: UInt16(number)))
                    ]
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    @Test func largeAndStrangeTexts() throws {
        let error = #expect(throws: StreamError.self) {
            try ProxyScript(String(repeating: " ", count: ProxyScript.maximumScriptSize + 1))
        }
        #expect(error?.isPOSIX(EFBIG) == true)
        #expect(throws: StreamError.self) { try ProxyScript("a\u{0}b") }
        #expect(try ProxyScript(bytes: [0xEF, 0xBB, 0xBF, 0x61]).text == "a")
        #expect(try ProxyScript(bytes: [0x61, 0xE9]).text == "aé")
    }

    @Test func sources() throws {
        let path = "/tmp/netkit-\(getpid())-\(UInt32.random(in: 0...(.max))).pac"
        defer { unlink(path) }
        let output = WriteStream(path: path)
        try output.open()
        try output.writeAll(Array(Self.branches.utf8))
        output.close()
        #expect(try ProxyScriptSource.url("file://\(path)").script() == ProxyScript(Self.branches))
        #expect(try ProxyScriptSource.text("x").script() == ProxyScript("x"))
        let missing = #expect(throws: StreamError.self) { try ProxyScriptSource.url("file://\(path)-not").script() }
        #expect(missing?.isPOSIX(ENOENT) == true)
        let elsewhere = #expect(throws: StreamError.self) { try ProxyScriptSource.url("http://h/p.pac").script() }
        #expect(elsewhere?.description.contains("HTTPStream") == true)
    }

    /// A file that blocks or never ends is refused without waiting: the test needs no clock to tell.
    @Test("A FIFO, a device, a directory and an endless file are refused at once")
    func fileThatIsNone() throws {
        let path = "/tmp/script-\(getpid())-\(UInt32.random(in: 0 ... .max)).pac"
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let vast = path + ".vast"
        #expect(close(open(vast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)) == 0 && truncate(vast, 1 << 40) == 0)
        defer { unlink(vast) }
        for (path, code) in [(path, EINVAL), ("/dev/zero", EINVAL), ("/tmp", EISDIR), (vast, EFBIG)] {
            let error = #expect(throws: StreamError.self, "\(path)") { try ProxyScript(file: path) }
            #expect(error?.isPOSIX(code) == true, "\(path): \(String(describing: error))")
            #expect(throws: StreamError.self) { try ProxyScriptSource.url("file://\(path)").script() }
        }
    }

    @Test("Kernel files, which report no size, are read")
    func fileWithoutASize() throws {
        #expect(try !RegularFile.read("/proc/self/status", limit: 1 << 16).isEmpty)
        let error = #expect(throws: StreamError.self) { try RegularFile.read("/proc/self/status", limit: 10) }
        #expect(error?.isPOSIX(EFBIG) == true)
    }

    // MARK: Names

    @Test(
        "This process looks up the names that a script asks for",
        arguments: [
            ("return 'PROXY ' + dnsResolve('a.example') + ':1';", "http://192.0.2.1:1"),
            ("return 'PROXY x' + dnsResolve('none.example') + ':1';", "http://xnull:1"),
            ("return isResolvable('none.example') ? 'PROXY y:1' : 'DIRECT';", "direct"),
            ("return isInNet(host, '192.0.2.0', '255.255.255.0') ? 'PROXY in:1' : 'DIRECT';", "http://in:1"),
            ("return 'PROXY ' + dnsResolve('192.0.2.9') + ':1';", "http://192.0.2.9:1"),
            ("try { dnsResolve('a.example'); } catch (e) {} return 'PROXY caught:1';", "http://caught:1"),
            ("return dnsResolve('\\'); quit()//') == null ? 'PROXY odd:1' : 'DIRECT';", "http://odd:1"),
            ("return myIpAddress() ? 'PROXY own:1' : 'DIRECT';", "http://own:1"),
            ("return 'PROXY y' + dnsResolveEx('a.example').split(';').length + ':1';", "http://y2:1"),
        ], ProxyScriptEngine.allCases)
    func names(_ example: (decision: String, expected: String), _ engine: ProxyScriptEngine) async throws {
        let (decision, expected) = example
        let resolver = ScriptedResolver()
        resolver.script("a.example", [.batch(["2001:db8::1", "192.0.2.1"]), .finish()])
        resolver.script("www.example", [.batch(["192.0.2.7"]), .finish()])
        resolver.script("192.0.2.9", [.batch(["192.0.2.9"]), .finish()])
        let question = ProxyScriptQuestion(url: "http://www.example/", host: "www.example")
        // In the function, and in the script's own statements.
        for text in [
            "function FindProxyForURL(url, host) { \(decision) }",
            """
            var host = 'www.example', first = (function () { \(decision) })();
            const again = 1;
            function FindProxyForURL() { return first; }
            """,
        ] {
            let choices = try await Self.patient(text, engine).choices(about: question, resolver: resolver)
            #expect(choices.map(\.description) == [expected], "\(text)")
        }
    }

    @Test("A script with endless lookups is ended at the limit")
    func namesWithoutEnd() async throws {
        let script = try Self.patient(
            "function FindProxyForURL(url, host) { for (var i = 0; ; i++) dnsResolve('n' + i + '.example'); }")
        let question = ProxyScriptQuestion(url: "http://www.example/", host: "www.example")
        let error = await #expect(throws: StreamError.self) {
            _ = try await script.choices(about: question, resolver: ScriptedResolver())
        }
        #expect(error?.description.contains("more than \(ProxyScript.maximumNames) names") == true)
    }
}
