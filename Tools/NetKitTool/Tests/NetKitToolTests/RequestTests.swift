import Foundation
import Peers
import Testing

@testable import netkit

/// The requests that `netkit get` makes from its options.
@Suite struct RequestTests {
    /// A server that answers each request with the request itself: its head, and then its body.
    static func echo() throws -> ScriptedServer {
        try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                if head.lowercased().contains("expect: 100-continue") {
                    try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
                }
                let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
                var body = try connection.read(length.flatMap { Int($0.dropFirst(16)) } ?? 0)
                while head.lowercased().contains("transfer-encoding: chunked") {
                    let size =
                        Int(
                            try connection.read(until: "\r\n").trimmingCharacters(in: .whitespacesAndNewlines),
                            radix: 16) ?? 0
                    body += try connection.read(size)
                    _ = try connection.read(2)
                    if size == 0 { break }
                }
                let answer = Array(head.utf8) + body
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(answer.count)\r\n\r\n")
                try connection.send(head.hasPrefix("HEAD ") ? [] : answer)
            }
        }
    }

    @Test(
        "bodies and queries",
        arguments: [
            (["-d", "a=1", "--data-urlencode", "b=x y&ü"], "POST / ", "\r\n\r\na=1&b=x%20y%26%C3%BC"),
            (["--data-urlencode", "x y"], "POST / ", "\r\n\r\nx%20y"),
            (["-G", "-d", "q=1", "-d", "r=%41 b"], "GET /?q=1&r=%41%20b ", "\r\n\r\n"),
            (
                ["--json-body", #"{"a":1}"#], "Content-Type: application/json\r\nAccept: application/json\r\n",
                #"{"a":1}"#
            ),
            (["--json-body", "[1,", "--json-body", "2]"], "Content-Length: 5\r\n", "\r\n\r\n[1,2]"),
            (["--data-raw", "@a"], "POST / ", "\r\n\r\n@a"), ([], "Accept: */*\r\n", "\r\n\r\n"),
            (["-H", "Accept: a/b"], "Accept: a/b\r\n", "\r\n\r\n"),
            (["-Fa=text; type=text/plain"], "name=\"a\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--", "--"),
            (["-Fa= b;c ;\tTYPE=x/y;  filename=f"], "filename=\"f\"\r\nContent-Type: x/y\r\n\r\nb;c\r\n--", "--"),
            (["-Fa=b; type=x/y; charset=z"], "Content-Type: x/y; charset=z\r\n\r\nb\r\n--", "--"),
            (["-Fa=b; see type=x/y"], "name=\"a\"\r\n\r\nb; see type=x/y\r\n--", "--"),
            (["-b", "a=1; flag"], "Cookie: a=1; flag\r\n", "\r\n\r\n"),
            (["-b", "a=1;a=2; a=1"], "Cookie: a=1;a=2; a=1\r\n", "\r\n\r\n"),
            (["-b", "a=1", "-b", "=b;;"], "Cookie: a=1; =b;;\r\n", "\r\n\r\n"),
            (["-b", "a=1", "-H", "Cookie: b=2"], "Cookie: b=2\r\n", "\r\n\r\n"),
            (["-Fa=b;c;type=x/y;filename=f"], "name=\"a\"; filename=\"f\"\r\nContent-Type: x/y\r\n\r\nb;c\r\n--", "--"),
            (
                ["-F", #"a="b;\"c"; type=x/y; charset=z ;filename="d;e""#],
                "name=\"a\"; filename=\"d;e\"\r\nContent-Type: x/y; charset=z \r\n\r\nb;\"c\r\n--", "--"
            ),
            (
                ["--form-string", "a=@b;type=c\\\"d", "-F", "e=f"],
                "name=\"a\"\r\n\r\n@b;type=c\\\"d\r\n--", "name=\"e\"\r\n\r\nf\r\n--"
            ),
            (
                ["-F", "a=b", "-H", "Content-Type: multipart/related"],
                "Content-Type: multipart/related; boundary=NetKit-", "--"
            ),
            (["-Fa=b"], "POST / ", "Content-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--"),
            (["-A", "agent/1", "-XPATCH", "-d", "x"], "User-Agent: agent/1\r\n", "x"),
            (["--bearer", "token"], "Authorization: Bearer token\r\n", "\r\n\r\n"),
            (["-fsSL"], "GET / ", "\r\n\r\n"),
        ])
    func bodies(_ options: [String], _ part: String, _ end: String) async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let run = try await Tool.run(["get"] + options + ["http://127.0.0.1:\(server.port)/"])
        #expect(run.status == 0 && run.output.contains(part), "\(run.text)")
        #expect(end.hasSuffix("--") ? run.output.contains(end) : run.output.hasSuffix(end), "\(run.text)")
    }

    /// As with curl, the text of -b follows the cookies of the jar, and goes to its host only.
    @Test func cookiesOfRedirects() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            while let head = try? connection.readHead() {
                let port =
                    head.split(separator: "\r\n").first { $0.hasPrefix("Host:") }?.split(separator: ":").last ?? ""
                let path = head.split(separator: " ")[1]
                let next = [
                    "/": "/same", "/same": "http://localhost:\(port)/other", "/other": "http://127.0.0.1:\(port)/end",
                ]
                let cookie = head.split(separator: "\r\n").first { $0.hasPrefix("Cookie:") } ?? "none"
                let head =
                    next[String(path)].map { "302 Found\r\nLocation: \($0)\r\nSet-Cookie: at\(path.dropFirst())=1\r\n" }
                    ?? "200 OK\r\n"
                try connection.send("HTTP/1.1 \(head)X-Seen: \(cookie)\r\nContent-Length: 0\r\n\r\n")
            }
        }
        defer { server.stop() }
        let run = try await Tool.run(["get", "-L", "-i", "-b", "a=1; flag", "http://127.0.0.1:\(server.port)/"])
        let seen = run.output.split(separator: "\n").filter { $0.hasPrefix("X-Seen: ") }.map { $0.dropFirst(8) }
        #expect(
            seen == [
                "Cookie: a=1; flag", "Cookie: at=1; a=1; flag", "none", "Cookie: at=1; atsame=1; a=1; flag",
            ], "\(run.text)")
    }

    @Test("one invalid URL of several costs only itself") func severalURLs() async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        let run = try await Tool.run(["get", url + "first", "nonsense", "ftp://h.invalid/%zz", url + "last"])
        #expect(run.status == 3 && run.errors.contains("'nonsense' is not a URL."), "\(run.text)")
        #expect(run.errors.contains("%zz is not an escape"), "\(run.text)")
        #expect(run.output.contains("GET /first ") && run.output.contains("GET /last "), "\(run.text)")
    }

    @Test(
        "-H 'Name:' omits a field, and -H 'Name;' sends it empty",
        arguments: [
            (["-H", "User-Agent:"], [], ["user-agent"]), (["-A", "x", "-H", "user-agent: "], [], ["user-agent"]),
            (["-d", "a", "-H", "Content-Type:"], [], ["content-type"]),
            (["--json-body", "1", "-H", "Accept:"], ["content-type: application/json"], ["accept"]),
            (
                ["-H", "X-A:", "-H", "X-B;", "-H", "X-C: c;", "-H", "Accept:"], ["x-b: ", "x-c: c;"], ["x-a", "accept"]
            ),
        ])
    func omittedFields(_ options: [String], _ sent: [String], _ omitted: [String]) async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let run = try await Tool.run(["get"] + options + ["http://127.0.0.1:\(server.port)/"])
        let lines = run.output.lowercased().split(separator: "\r\n").map(String.init)
        #expect(run.status == 0 && lines.contains { $0.hasPrefix("host: ") }, "\(run.text)")
        for line in sent { #expect(lines.contains(line), "\(line) in \(run.text)") }
        for name in omitted { #expect(!lines.contains { $0.hasPrefix(name + ":") }, "\(name) in \(run.text)") }
    }

    /// As curl: -d leaves out the line ends of a file, --data-binary sends it as it is.
    @Test func lineEndsOfFiles() async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let (file, url) = (folder.file("file.txt"), "http://127.0.0.1:\(server.port)")
        try folder.write("a=1&\r\nb=2\n\0\n", to: "file.txt")
        let text = try await Tool.run(["get", "-d", "@\(file)", url])
        #expect(
            text.output.contains("Content-Length: 7\r\n") && text.output.hasSuffix("\r\n\r\na=1&b=2"), "\(text.text)")
        let paced = try await Tool.run(["get", "--limit-rate", "1M", "-d", "@\(file)", url])
        #expect(paced.output.hasSuffix("\r\n\r\na=1&b=2"), "\(paced.text)")
        let binary = try await Tool.run(["get", "--data-binary", "@\(file)", url])
        #expect(binary.output.hasSuffix("\r\n\r\na=1&\r\nb=2\n\0\n"), "\(binary.text)")
        for (option, end) in [("-d", "xy"), ("--data-binary", "x\ny\n")] {
            let piped = try await Tool.run(shell: "printf 'x\\ny\\n' | $netkit get \(option) @- \(url)")
            #expect(piped.output.hasSuffix("\r\n\r\n\(end)"), "\(piped.text)")
        }
        let several = try await Tool.run(["get", "-d", "@\(file)", "-d", "c", "--data-raw", "@d", url])
        #expect(several.output.hasSuffix("\r\n\r\na=1&b=2&c&@d"), "\(several.text)")
        try folder.write("a=1&\r\nb=2\n", to: "file.txt")
        let whole = try await Tool.run(["get", "-G", "-d", "@\(file)", url])
        #expect(whole.output.hasPrefix("GET /?a=1&b=2 "), "\(whole.text)")
        let values = try await Tool.run(["get", "--data-binary", "-x", "--data-binary", "y", url])
        #expect(values.output.hasSuffix("\r\n\r\n-x&y"), "\(values.text)")
    }

    @Test func files() async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let (file, url) = (folder.file("file.txt"), "http://127.0.0.1:\(server.port)")
        try folder.write("contents", to: "file.txt")
        let upload = try await Tool.run(["get", "-T", file, url + "/up/"])
        #expect(
            upload.output.hasPrefix("PUT /up/file.txt ") && upload.output.hasSuffix("\r\n\r\ncontents"),
            "\(upload.text)")
        let form = try await Tool.run(["get", "-F", "f=@\(file);type=text/plain;filename=other.txt", url])
        #expect(
            form.output.contains("name=\"f\"; filename=\"other.txt\"\r\nContent-Type: text/plain\r\n\r\ncontents\r\n"),
            "\(form.text)")
        let guessed = try await Tool.run(["get", "-F", "f=@\(file)", "-F", "t=<\(file);type=text/csv", url])
        #expect(
            guessed.output.contains("filename=\"file.txt\"\r\nContent-Type: text/plain\r\n\r\ncontents\r\n"),
            "\(guessed.text)")
        #expect(
            guessed.output.contains("name=\"t\"\r\nContent-Type: text/csv\r\n\r\ncontents\r\n"), "\(guessed.text)")
        let encoded = try await Tool.run(["get", "--data-urlencode", "n@\(file)", url])
        #expect(encoded.output.hasSuffix("n=contents"), "\(encoded.text)")
        let token = try await Tool.run(["get", "--bearer", "@\(file)", url])
        #expect(token.output.contains("Authorization: Bearer contents\r\n"), "\(token.text)")
        let piped = try await Tool.run(shell: "echo piped | $netkit get -T - \(url)/x")
        #expect(
            piped.output.contains("Transfer-Encoding: chunked\r\n") && piped.output.hasSuffix("piped\n"),
            "\(piped.text)")
        let missing = try await Tool.run(["get", "-T", folder.file("none"), url])
        #expect(missing.status == 23, "\(missing.text)")
    }

    @Test(
        "combinations without a meaning",
        arguments: [
            (["-T", "f", "-d", "x"], "-d and -T cannot be combined."), (["-G"], "-G requires -d"),
            (["-F", "a=@f;type=x/y,g"], "a part has one file; repeat -F"),
            (["-F", "a=@f;type=x/y;headers=z"], "'headers=z' is neither type=TYPE nor filename=NAME"),
            (["-d", "x", "--data-binary", "y"], "-d and --data-binary cannot be combined."),
            (["-G", "-d", "a=50%"], "a percent sign in -d begins no escape"),
            (["-G", "-d", "a=%4z"], "a percent sign in -d begins no escape"),
            (["-I", "-d", "x"], "--head sends no body"), (["-F", "a"], "-F 'a' is not a part of a form"),
            (["-F", "a=@f;size=1"], "'size=1' is neither type=TYPE nor filename=NAME"),
            (["-H", "Host: x"], "use --connect-to"), (["-H", "X"], "has no colon"),
            (["-H", ";"], "is not a header name"),
            (["-H", "User-Agent;"], "'User-Agent:' omits it"), (["-H", "Accept;"], "'Accept:' omits it"),
            (["-H", "Expect;"], "'Expect:' omits it"),
            (["-H", "cookie:", "-b", "a=b"], "combined with -b"),
            (["-F", "a=b", "-H", "Content-Type:"], "cannot be combined with -F"),
            (["--bearer", "x", "-u", "y"], "cannot be combined with -u"),
            (["-J"], "-J requires -O."), (["-o", "a", "-o", "b"], "There are more -o than URLs."),
            (["--limit-rate", "0"], "--limit-rate must be"),
            (["--limit-rate", "9999999999999999999"], "--limit-rate must be"),
            (["--limit-rate", "1099511627776G"], "--limit-rate must be"),
            (["--stall-timeout", "0"], "--stall-timeout must be"), (["-4", "-6"], "-4 and -6 cannot be combined."),
            (["--resolve", "x"], "is not HOST:PORT:ADDRESS"), (["--resolve", "x:1:y"], "is not HOST:PORT:ADDRESS"),
            (["--connect-to", "a:b"], "is not HOST1:PORT1:HOST2:PORT2"),
            (["--connect-to", "a::b:1"], "requires both HOST1 and PORT1"),
            (["--unix-socket", "/x", "-4"], "--unix-socket cannot be combined"),
            (["--resolve", "x:1:::1", "-x", "p:1"], "connects directly and cannot be combined with a proxy"),
            (["--unix-socket", "/" + String(repeating: "x", count: 200)], "is not the path of a socket"),
            (["--parallel-max", "3"], "--parallel-max requires -Z."), (["-w", "%{x}"], "'x' is unknown"),
            (["--insecure", "--cacert", "f"], "cannot be combined"), (["--pass", "x"], "--pass requires --cert."),
            (["--http3"], "does not support HTTP/3"), (["-C", "-"], "Use --resume."),
            (["--http2", "--http1.1"], "--http1.1 and --http2 cannot be combined."),
            (["--http2-prior-knowledge", "--http2"], "--http2 and --http2-prior-knowledge cannot be combined."),
            (["--http2=1"], "does not take any value"), (["--http1"], "Use --http1.1."),
            (["-e", "x;auto"], "omit ;auto"), (["--range", "x"], "is not a range, such as 0-99"),
            (["--max-filesize", "x"], "--max-filesize must be a number of bytes"),
            (["--limit-rate", "1k", "-F", "a=b"], "cannot be combined with -F"),
        ])
    func mistakes(_ options: [String], _ words: String) async throws {
        let run = try await Tool.run(["get"] + options + ["http://h.invalid/"])
        #expect(run.status == 64 && run.errors.contains(words) && run.output.isEmpty, "\(run.text)")
    }

    /// Options that do nothing for FTP are refused.
    @Test(arguments: [
        ["-T", "f"], ["-v"], ["-w", "x"], ["-4"], ["--resolve", "a:1:::1"], ["--limit-rate", "1k"], ["--bearer", "x"],
    ])
    func optionsThatFTPDoesNotHave(_ options: [String]) async throws {
        let run = try await Tool.run(["get"] + options + ["ftp://h.invalid/x"])
        #expect(run.status == 64 && run.errors.contains("\(options[0]): not supported for ftp URLs"), "\(run.text)")
    }

    /// A pipe has no length. Many servers require one, so the data is read first, up to a limit.
    @Test(
        "data from a pipe has a length up to a limit",
        arguments: [
            (100, true), (UploadSource.measuredLength - 1, true), (UploadSource.measuredLength + 100_000, false),
        ])
    func dataFromAPipe(_ count: Int, _ isMeasured: Bool) async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let run = try await Tool.run(
            shell: """
                head -c \(count) /dev/zero | tr '\\0' x |
                    $netkit get -o '\(folder.path)/echo' --data-binary @- http://127.0.0.1:\(server.port)/
                """)
        #expect(run.status == 0, "\(run.text)")
        let text = try String(contentsOfFile: folder.file("echo"), encoding: .utf8)
        #expect(text.contains("\r\nContent-Length: \(count)\r\n") == isMeasured)
        #expect(text.contains("\r\nTransfer-Encoding: chunked\r\n") != isMeasured)
        #expect(text.utf8.reversed().prefix { $0 == UInt8(ascii: "x") }.count == count)
    }

    @Test("braces and brackets in URLs stand for several") func globs() async throws {
        let server = try Self.echo()
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let url = "http://127.0.0.1:\(server.port)"
        let run = try await Tool.run([
            "get", "-o", folder.file("#1-#2"), "\(url)/{a,b}/[8-10:2]", "-o", folder.file("one"), "\(url)/x[0]",
        ])
        #expect(run.status == 0, "\(run.text)")
        #expect(try folder.names == ["a-10", "a-8", "b-10", "b-8", "one"])
        #expect(try String(contentsOfFile: folder.file("b-10"), encoding: .utf8).hasPrefix("GET /b/10 "))
        let literal = try await Tool.run(["get", "-g", "\(url)/[1-3]"])
        #expect(literal.status == 0 && literal.output.hasPrefix("GET /%5B1-3%5D "), "\(literal.text)")
    }

    @Test("-i and -I print the heads of redirects, as with curl", arguments: [["-iL"], ["-LI"], ["-sIL"]])
    func headsOfRedirects(_ options: [String]) async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            let isFirst = try connection.readHead().contains(" /first ")
            let answer = isFirst ? "302 Found\r\nLocation: /second" : "200 OK"
            try connection.send("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        defer { server.stop() }
        let run = try await Tool.run(["get"] + options + ["http://127.0.0.1:\(server.port)/first"])
        let starts = run.output.split(separator: "\r\n").flatMap { $0.split(separator: "\n") }
            .filter { $0.hasPrefix("HTTP/") }
        #expect(starts == ["HTTP/1.1 302 Found", "HTTP/1.1 200 OK"], "\(run.text)")
    }

    @Test func passwordsAreNotInTheProcessList() async throws {
        let server = try ScriptedServer { connection throws(PeerError) in
            try connection.readHead()
            try connection.readToEnd()
        }
        defer { server.stop() }
        let line = """
            $netkit get -u ann:secret1 --proxy-user=bob:secret2 --cookie SID=secret3 -bA=secret4 \
            http://joe:secret5@127.0.0.1:\(server.port)/ & pid=$!
            while ! grep -q 'joe:[x]' /proc/$pid/cmdline; do :; done
            tr '\\0' ' ' </proc/$pid/cmdline; kill $pid
            """
        let run = try await Tool.run(shell: line)
        #expect(
            run.output.contains("-u ann:xxxxxxx --proxy-user=bob:xxxxxxx --cookie xxxxxxxxxxx -bxxxxxxxxx"),
            "\(run.text)")
        #expect(!run.output.contains("secret"), "\(run.text)")
    }
}
