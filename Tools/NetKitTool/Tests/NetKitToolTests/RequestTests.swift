import Foundation
import Peers
import Testing

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
        let query = try await Tool.run(["get", "-G", "-d", "@\(file)", "--data-urlencode", "c=3", url])
        #expect(query.status == 64, "\(query.text)")
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
            (["-d", "x", "--data-binary", "y"], "-d and --data-binary cannot be combined."),
            (["-G", "-d", "a=50%"], "a percent sign in -d begins no escape"),
            (["-G", "-d", "a=%4z"], "a percent sign in -d begins no escape"),
            (["-I", "-d", "x"], "--head sends no body"), (["-F", "a"], "-F 'a' is not a part of a form"),
            (["-F", "a=@f;size=1"], "'size=1' is neither type=TYPE nor filename=NAME"),
            (["-H", "Host: x"], "use --connect-to"), (["-H", "X"], "has no colon"),
            (["-H", ";"], "is not a header name"),
            (["-H", "User-Agent;"], "'User-Agent:' omits it"), (["-H", "Expect;"], "'Expect:' omits it"),
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
            (["--http2"], "does not support HTTP/2 yet"), (["-C", "-"], "Use --resume."),
            (["-e", "x"], "Use -H 'Referer: URL'."),
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
