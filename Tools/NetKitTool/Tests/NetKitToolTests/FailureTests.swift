import Glibc
import Peers
import Testing

/// The messages and exit codes of failures.
@Suite struct FailureTests {
    /// An event loop, and Dispatch, trap without descriptors. Fewer than five do not suffice to load the program's libraries.
    @Test("Too few files can be opened", arguments: [5, 6, 8, 12, 20])
    func limitOfOpenFiles(_ limit: Int) async throws {
        let verbs = [
            "get http://127.0.0.1:1/", "ls ftp://127.0.0.1:1/", "resolve localhost", "connect 127.0.0.1 1",
            "browse _x._tcp --timeout 0.1", "diagnose http://127.0.0.1:1/",
        ]
        let json = try await Tool.run(shell: "ulimit -n \(limit); $netkit get --json http://127.0.0.1:1/")
        #expect(json.status == 1 && json.output.hasPrefix(#"{"error":{"sentence":"Only "#), "\(json.text)")
        for verb in verbs {
            let run = try await Tool.run(shell: "ulimit -n \(limit); $netkit \(verb)")
            #expect(run.status == 1 && run.output.isEmpty, "\(verb): \(run.text)")
            #expect(
                run.errors.hasPrefix("netkit: Only ") && run.errors.hasSuffix("such as with: ulimit -n 256\n"),
                "\(verb): \(run.text)")
        }
    }

    @Test(arguments: [
        (
            ["get", "--pac", "/nowhere/x", "http://h.invalid/"], 23,
            "/nowhere/x cannot be opened: No such file or directory."
        ),
        (
            ["get", "--cacert", "/nowhere/x", "https://h.invalid/"], 23,
            "/nowhere/x cannot be read: No such file or directory."
        ),
        (
            ["get", "-d", "@/nowhere/x", "http://h.invalid/"], 23,
            "/nowhere/x cannot be read: No such file or directory."
        ),
        (
            ["explain-auth", "--cacert", "/nowhere/x", "https://h.invalid/"], 23,
            "/nowhere/x cannot be read: No such file"
        ),
        (["get", "--tls-min", "1.3", "--tls-max", "1.2", "https://h.invalid/"], 64, "Usage: netkit get"),
        (["put", "/nowhere/x", "ftp://h.invalid/"], 23, "/nowhere/x cannot be read: No such file or directory."),
        (["ls", "http://h.invalid/"], 64, "Usage: netkit ls "),
        (
            ["ls", "--tls", "preferred", "--cacert", "/nowhere/x", "-u", "a:b", "ftp://h.invalid/"], 64,
            "--cacert requires TLS, which --tls preferred does not"
        ),
        (["resolve", "--timeout", "0", "localhost"], 64, "--timeout must be a number of seconds above 0, and"),
        (["get", "--timeout", "1e300", "http://h.invalid/"], 64, "and at most 1000000000."),
        (["ls", "--timeout", "nan", "ftp://h.invalid/"], 64, "and at most 1000000000."),
        (["browse", "--timeout=-1", "_x._tcp"], 64, "and at most 1000000000."),
        (["connect", "--timeout", "inf", "h.invalid:1"], 64, "and at most 1000000000."),
        (
            ["resolve", "--json", "h.invalid"], 6,
            #""error":{"code":8,"domain":"netDB","sentence":"no such host: h.invalid"}"#
        ),
        (
            ["browse", "_x._tcp", "--engine", "embedded", "--interface", "nowhere0", "--timeout", "0.1"], 64,
            "no such interface"
        ),
        (
            ["get", "--cacert", "/etc/hostname", "https://h.invalid/"], 23,
            "/etc/hostname contains no certificate (PEM)."
        ),
        (["get", "--cacert", "/etc", "https://h.invalid/"], 23, "/etc is a folder."),
        (
            ["get", "http://127.0.0.256/"], 3,
            "not a valid host name: 127.0.0.256 (a number that is not an IPv4 address)"
        ),
        (["get", "--json", "localhost:1/x"], 3, #"{"error":{"code":"#),
        (["get", "http://h.invalid/%zz"], 3, "%zz is not an escape; write a percent sign as %25."),
        (["ls", "ftp://h.invalid/a%2"], 3, "%2 is not an escape; write a percent sign as %25."),
        (["get", "http://h.invalid/a b%20c"], 3, "only a part of it is escaped; write a space as %20."),
        (["get", "--connect-timeout", "0", "http://h.invalid/"], 64, "--connect-timeout must be a number of seconds"),
        (["get", "-O", "http://h.invalid/"], 64, "has no file name; use -o FILE."),
        (["get", "-O", "http://h.invalid/..%2fx"], 64, "has no safe file name: it contains a slash; use -o FILE."),
        (["get", "-O", "http://h.invalid/.profile"], 64, "it begins with a dot; use -o FILE."),
        (["get", "-O", "http://h.invalid/-rf"], 64, "it begins with a hyphen; use -o FILE."),
        (["get", "-b", "/nowhere/x", "http://h.invalid/"], 6, "/nowhere/x does not exist; no cookies are read"),
        (["get", "-b", "/etc", "http://h.invalid/"], 23, "/etc cannot be read: Is a directory."),
        (["get", "http://h.invalid/[5-1]"], 3, "[5-1] is not a range; add -g if it is literal."),
        (["get", "http://h.invalid/{a"], 3, "{ has no }; add -g if it is literal, or write it as %7B."),
        (["get", "-o", "x", "http://h.invalid/{a,b}"], 64, "Two URLs have the same -o; use #1 in it."),
    ])
    func reportsReason(_ arguments: [String], _ status: Int32, _ words: String) async throws {
        let run = try await Tool.run(arguments)
        #expect(run.status == status && run.text.contains(words), "\(run.text)")
    }

    @Test(
        "responses that are invalid or cut short",
        arguments: [
            ("HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", 8), ("what is this", 8), ("HTTP/1.1 200 OK\r\nA: b\r\n", 18),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", 18), ("", 52),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 8),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 8),
        ] as [(String, Int32)])
    func invalidResponses(_ response: String, _ status: Int32) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.send(response)
        }
        let run = try await Tool.run(["get", "http://127.0.0.1:\(server.port)/"])
        #expect(run.status == status && run.errors.hasPrefix("netkit: "), "\(run.text)")
    }

    @Test func warnsOfADamagedRoot() async throws {
        let folder = try TemporaryFolder()
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        let file = try folder.write(damaged + damaged, to: "roots.pem")
        let run = try await Tool.run(["get", "--cacert", file, "https://127.0.0.1:1/"])
        for number in 1...2 {
            let warning = "netkit: warning: \(file): certificate \(number) cannot be read, and is not trusted.\n"
            #expect(run.errors.ranges(of: warning).count == 1, "\(run.text)")
        }
    }

    @Test func reportsAMalformedProxyVariable() async throws {
        let run = try await Tool.run(["get", "http://h.invalid/"], environment: ["http_proxy": "::::"])
        #expect(
            run.status == 97 && run.errors.contains("The environment variable http_proxy is invalid"), "\(run.text)")
    }

    /// Options that require TLS are refused for a connection without it.
    @Test(arguments: [
        ["--pin", "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="], ["--cert", "/nowhere/x"],
        ["--cert", "/nowhere/x", "--key", "/nowhere/y"], ["--tls-min", "1.3"], ["--tls-max", "1.2"],
        ["--keylog", "/nowhere/x"],
    ])
    func refusesOptionsOfTLSWithoutIt(_ options: [String]) async throws {
        for (line, remedy) in [
            (["connect", "h.invalid:993"], "add --tls or --starttls"),
            (["get", "http://h.invalid/"], "use https://"),
            (["explain-auth", "http://h.invalid/"], "use https://"),
            (["get", "--tls", "off", "-u", "a:b", "ftp://h.invalid/f"], "omit --tls off"),
            (["ls", "--tls", "preferred", "-u", "a:b", "ftp://h.invalid/"], "omit --tls preferred"),
        ] {
            let run = try await Tool.run(line + options)
            #expect(run.status == 64 && run.text.contains(remedy), "\(line): \(run.text)")
        }
    }

    @Test(arguments: [["get", "--tls", "required"], ["get", "--active"], ["get", "--no-active"]])
    func refusesOptionsOfFTPWithHTTP(_ line: [String]) async throws {
        let run = try await Tool.run(line + ["-u", "joe:pw", "http://h.invalid/"])
        #expect(
            run.status == 64 && run.text.contains("--tls and --active require an ftp"), "\(run.text)")
    }

    @Test(arguments: [
        ["-X", "PUT"], ["-H", "A: b"], ["-d", "x"], ["-L"], ["--head"], ["-i"], ["-b", "a=b"], ["--compressed"],
        ["--http1.1"], ["--http2"], ["--http2-prior-knowledge"],
        ["--auth", "digest"],
        ["--proxy-user", "a:b"], ["--proxy-auth", "basic"], ["--delegate", "h.invalid"], ["--negotiate-host", "*"],
        ["--password-store", "keyring"], ["--password-store", "keyring", "--save-password"],
    ])
    func refusesOptionsOfHTTPWithFTP(_ options: [String]) async throws {
        let names = options.filter { $0.hasPrefix("-") }.joined(separator: ", ")
        for scheme in ["ftp", "ftps"] {
            let run = try await Tool.run(["get"] + options + ["\(scheme)://joe:pw@h.invalid/f"])
            let sentence = "\(names): not supported for \(scheme) URLs, only for http and https."
            #expect(run.status == 64 && run.text.contains(sentence), "\(run.text)")
        }
    }

    @Test(arguments: [
        (["get", "-r", "--report", "ftp://h.invalid/"], "--report cannot be combined with -r"),
        (
            ["get", "--auth", "digest", "--negotiate-host", "h", "http://h.invalid/"],
            "require Negotiate, which --auth excludes"
        ),
        (
            ["get", "--auth", "basic", "--delegate", "h", "http://h.invalid/"],
            "require Negotiate, which --auth excludes"
        ),
    ])
    func refusesOptionsThatChangeNothing(_ line: [String], _ words: String) async throws {
        let run = try await Tool.run(line)
        #expect(run.status == 64 && run.text.contains(words), "\(run.text)")
    }

    @Test(arguments: ["off", "preferred"])
    func ftpsMeansTLS(_ when: String) async throws {
        let run = try await Tool.run(["ls", "--tls", when, "-u", "ann:pw", "ftps://h.invalid:2121/"])
        #expect(run.status == 64 && run.text.contains("--tls \(when) contradicts ftps://"), "\(run.text)")
    }

    @Test(arguments: ["get http://", "connect "]) func reportsFullDisk(_ verb: String) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        }
        // The input is for connect; get sends its own request.
        let line = "printf 'GET / HTTP/1.1\\r\\n\\r\\n' | $netkit \(verb)127.0.0.1:\(server.port) >/dev/full"
        let run = try await Tool.run(shell: line)
        #expect(run.status == 23 && run.text.contains("standard output cannot be written: No space"), "\(run.text)")
    }

    @Test(
        "Output that cannot be written is a failure",
        arguments: ["get --head URL", "get --json URL", "resolve localhost", "--help", "get --help"])
    func fullOutput(_ words: String) async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let words = words.replacing("URL", with: "http://127.0.0.1:\(server.port)/")
        let run = try await Tool.run(shell: "\"$netkit\" \(words) >/dev/full; echo $? >&2")
        #expect(
            run.errors == "netkit: standard output cannot be written: No space left on device.\n23\n", "\(run.text)")
    }

    @Test("Lines on standard output and standard error keep their order") func order() async throws {
        let run = try await Tool.run(shell: "\"$netkit\" resolve localhost a..b 127.0.0.1 2>&1")
        let lines = run.output.split(separator: "\n")
        #expect(lines.first?.contains("127.0.0.1") == true && lines.last?.contains("localhost") == true, "\(run.text)")
        #expect(lines.dropFirst().dropLast().contains { $0.hasPrefix("netkit: ") }, "\(run.text)")
    }

    @Test("a standard output that is closed is called that", arguments: ["", "-o -", "--json"])
    func closedOutput(_ options: String) async throws {
        let server = try RequestTests.echo()
        defer { server.stop() }
        let run = try await Tool.run(
            shell: "\"$netkit\" get \(options) http://127.0.0.1:\(server.port)/ >&- ; echo $? >&2")
        let isReported = options == "--json" || run.errors.contains("standard output is closed.")
        #expect(isReported && !run.errors.contains("Invalid argument"), "\(run.text)")
        if options != "--json" { #expect(run.errors.hasSuffix("23\n"), "\(run.text)") }
    }

    /// A transfer that fails before a response still reports its steps.
    @Test func reportsStepsOfFailure() async throws {
        // The port is bound, so that no other process takes it, but not listening.
        let held = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(held) }
        var address = sockaddr_in()
        (address.sin_family, address.sin_addr.s_addr) = (sa_family_t(AF_INET), UInt32(0x7F00_0001).bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(held, $0, length) == 0 && getsockname(held, $0, &length) == 0
            }
        }
        try #require(isBound)
        let endpoint = "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        let report = try await Tool.run(["get", "--report", "http://\(endpoint)/"])
        #expect(report.status == 7 && report.text.contains("\nconnect \(endpoint)  "), "\(report.text)")
        let json = try await Tool.run(["get", "--json", "http://\(endpoint)/"])
        #expect(json.status == 7 && json.text.contains(#""step":"connect \#(endpoint)""#), "\(json.text)")
    }
}
