import Foundation
import Testing

@testable import CredentialStores

@Suite struct NetrcFileTests {
    private func parse(_ text: String) -> (entries: [NetrcParser.Entry], skipped: [SkippedLine]) {
        Array(text.utf8).withUnsafeBytes { NetrcParser.parse($0) }
    }

    @Test func entries() {
        let (entries, skipped) = parse(
            """
            # a comment with machine in it
            machine Example.org login joe password secret account x
            machine example.com
            \tlogin "a b\\"c"
            \tpassword #hash
            macdef init
            machine not.this
            login neither

            machine example.net login "" password "p\\n\\\\"
            default login anonymous password me@here
            """)
        #expect(entries.map(\.machine?.host) == ["example.org", "example.com", "example.net", nil])
        #expect(entries.map(\.login) == ["joe", "a b\"c", "", "anonymous"])
        #expect(entries.map(\.password) == [Secret("secret"), Secret("#hash"), Secret("p\n\\"), Secret("me@here")])
        #expect(entries[0].account == "x" && skipped.isEmpty)
    }

    private static let good = "machine good login u password p"

    @Test(
        "an odd part costs itself or its entry, and is reported",
        arguments: [
            // The text before a good entry, and the usable logins and the line and reason of what was skipped.
            ("machine a login b password c protocol https\n", "b", 1, "unknown keyword"),
            ("machine a\nlogin b\nmethod interactive\npassword c\n", "b", 3, "unknown keyword"),
            ("machine a odd login b password c\n", "b", 1, "unknown keyword"),
            ("machine a odd\nlogin b password c\n", "b", 1, "unknown keyword"),
            ("login joe password x\n", nil, 1, "keyword before the first machine"),
            ("x y\n", nil, 1, "unknown keyword"), ("machine a login b password \"x\n", nil, 1, "missing closing quote"),
            ("machine \"a\nlogin b password c\n", nil, 1, "missing closing quote"),
            ("\n\nmachine a login \"b password c\n", nil, 3, "missing closing quote"),
            // A keyword whose value is missing does not take the next one, with which the password of another machine would follow.
            ("machine a\nmethod login\n", nil, 2, "keyword without a value"),
            ("machine a login b\nprotocol password\n\n", nil, 2, "keyword without a value"),
            ("machine a\nlogin\npassword c\n", nil, 2, "keyword without a value"),
            ("machine\nlogin b password c\n", nil, 1, "keyword without a value"),
            ("machine a login b account\n", nil, 1, "keyword without a value"),
        ] as [(String, String?, Int, String)])
    func oddParts(_ text: String, _ login: String?, _ line: Int, _ reason: String) {
        let (entries, skipped) = parse(text + Self.good)
        #expect(entries.map(\.login) == (login.map { [$0] } ?? []) + ["u"])
        #expect(entries.last?.password == Secret("p") && entries.last?.machine?.host == "good")
        #expect(skipped.contains(SkippedLine(line: line, reason: reason)), "\(skipped)")
    }

    @Test(arguments: [
        "MACHINE a LOGIN u PASSWORD s", "Machine a Login u Password s ACCOUNT x", "machine a user u passwd s",
        "DEFAULT User u PassWD s",
    ])
    func keywordsInOtherWriting(_ text: String) {
        let (entries, skipped) = parse(text)
        #expect(entries.map(\.login) == ["u"] && entries.map(\.password) == [Secret("s")] && skipped.isEmpty)
    }

    /// What was skipped may have been the login: the password is not sent without one.
    @Test(arguments: [
        "machine a.test usr u password s", "machine a.test password s usr u", "machine a.test odd password s",
    ])
    func anEntryThatIsPartlyUnknownHasNoEmptyLogin(_ text: String) throws {
        let path = try file(text + "\nmachine a.test password token")
        defer { unlink(path) }
        let netrc = try NetrcFile(path: path)
        let space = ProtectionSpace(.origin, scheme: "https", host: "a.test", port: 443)
        #expect(netrc.find(CredentialQuery(space))?.password == Secret("token") && netrc.skipped.count == 1)
    }

    @Test(arguments: ["machine", "machine a login", "machine a password \"hunter2"])
    func anUnfinishedEntryIsNotUsed(_ text: String) {
        let (entries, skipped) = parse(Self.good + "\n" + text)
        #expect(entries.map(\.login) == ["u"] && skipped.map(\.line) == [2])
        #expect(!"\(skipped)".contains("hunter2"))
    }

    @Test func commentsAndByteOrderMarks() {
        let (entries, skipped) = parse(
            "\u{feff}machine a login b password #c # a comment, machine x\n  # machine y\nmachine d login e # f\npassword g"
        )
        #expect(entries.map(\.login) == ["b", "e"] && entries.map(\.password) == [Secret("#c"), Secret("g")])
        #expect(skipped.isEmpty)
    }

    @Test func aPasswordWithoutALogin() throws {
        let path = try file(
            "machine a.test password token\nmachine b.test login x password y\nmachine c.test account z")
        defer { unlink(path) }
        let netrc = try NetrcFile(path: path)
        func space(_ host: String) -> ProtectionSpace {
            ProtectionSpace(.origin, scheme: "https", host: host, port: 443)
        }
        let found = netrc.find(CredentialQuery(space("a.test")))
        #expect(found?.user == "" && found?.password == Secret("token"))
        #expect(netrc.find(CredentialQuery(space("a.test"), user: "joe")) == nil)
        #expect(netrc.find(CredentialQuery(space("c.test"))) == nil)
        // FTP has no login without a name.
        #expect(netrc.login(forHost: "a.test") == nil && netrc.login(forHost: "b.test")?.user == "x")
    }

    /// Text truncated at any byte has no other entries.
    @Test func truncated() {
        let text = "machine a login \"b\\\"c\" password d\nmacdef m\nx\n\ndefault login e password f"
        for length in 0...text.utf8.count {
            let entries = parse(String(text.prefix(length))).entries
            #expect(entries.count <= 2)
            if entries.count == 2 { #expect(entries[0].password == Secret("d")) }
        }
    }

    private func file(_ text: String, mode: mode_t = 0o600) throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("netrc-\(UUID())").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, mode)
        return path
    }

    @Test func finds() throws {
        let path = try file(
            """
            machine a.test login one password 1
            machine a.test login two password 2
            machine b.test login none
            """)
        defer { unlink(path) }
        let netrc = try NetrcFile(path: path)
        let space = ProtectionSpace(.origin, scheme: "https", host: "A.test.", port: 8443, realm: "r")
        #expect(netrc.find(CredentialQuery(space))?.user == "one")
        #expect(netrc.find(CredentialQuery(space))?.space == space)
        #expect(netrc.find(CredentialQuery(space, user: "two"))?.password == Secret("2"))
        #expect(netrc.find(CredentialQuery(space, user: "three")) == nil)
        for host in ["b.test", "x.a.test", "a.test.evil", "test"] {
            let other = ProtectionSpace(.origin, scheme: "https", host: host, port: 443)
            #expect(netrc.find(CredentialQuery(other)) == nil)
        }
        #expect(throws: HTTPAuthError.self) { try netrc.save(Credential(user: "a", password: "b", for: space)) }
    }

    @Test func aLargeFileIsRefused() throws {
        let path = try file(String(repeating: "#", count: NetrcFile.maximumSize))
        defer { unlink(path) }
        let space = ProtectionSpace(.origin, scheme: "http", host: "example.org", port: 80)
        #expect(try NetrcFile(path: path).find(CredentialQuery(space)) == nil)
        let larger = try file(String(repeating: "#", count: NetrcFile.maximumSize + 1))
        defer { unlink(larger) }
        let error = #expect(throws: HTTPAuthError.self) { try NetrcFile(path: larger) }
        #expect(error?.code == .storeUnavailable)
    }

    private static let machines = """
        machine plain.test login plain password 1
        machine port.test:8443 login port password 2
        machine https://secure.test login secure password 3
        machine http://clear.test:8080 login clear password 4
        machine [2001:db8::1]:8443 login six password 5
        machine 2001:db8::2 login bare password 6
        default login anyone password 7
        """

    @Test(
        "a machine matches its port and scheme; the default matches named servers",
        arguments: [
            // The origin, the entry if the application named it, and the entry after a redirect.
            ("http://plain.test:80", "plain", nil), ("http://plain.test:81", "plain", nil),
            ("https://plain.test:443", "plain", "plain"), ("https://plain.test:444", "plain", nil),
            ("https://port.test:8443", "port", "port"), ("http://port.test:8443", "port", nil),
            ("https://port.test:443", "anyone", nil), ("https://secure.test:443", "secure", "secure"),
            ("https://secure.test:8443", "anyone", nil), ("http://secure.test:443", "anyone", nil),
            ("http://clear.test:8080", "clear", "clear"), ("https://clear.test:8080", "anyone", nil),
            ("http://clear.test:80", "anyone", nil), ("https://[2001:db8::1]:8443", "six", "six"),
            ("https://[2001:db8::1]:443", "anyone", nil), ("https://[2001:db8::2]:443", "bare", "bare"),
            ("https://other.test:443", "anyone", nil), ("http://other.test:80", "anyone", nil),
        ] as [(String, String?, String?)])
    func machines(_ origin: String, _ named: String?, _ redirected: String?) throws {
        let path = try file(Self.machines)
        defer { unlink(path) }
        let netrc = try NetrcFile(path: path)
        let url = try #require(URL(string: origin))
        let space = try ProtectionSpace(
            .origin, scheme: #require(url.scheme), host: #require(url.host), port: #require(url.port), realm: "r")
        #expect(netrc.find(CredentialQuery(space))?.user == named)
        #expect(netrc.find(CredentialQuery(space, isNamed: false))?.user == redirected)
    }

    @Test("other protocols match by host, port and scheme") func otherProtocols() throws {
        let path = try file(
            "machine ftp://a.test login one password 1 machine b.test:2121 login two password 2 machine c.test login three password 3"
        )
        defer { unlink(path) }
        let netrc = try NetrcFile(path: path)
        #expect(netrc.login(forHost: "a.test", port: 21, scheme: "ftp")?.user == "one")
        #expect(netrc.login(forHost: "a.test", port: 2121, scheme: "ftp") == nil)
        #expect(netrc.login(forHost: "a.test") == nil)
        #expect(netrc.login(forHost: "b.test", port: 2121, scheme: "ftp")?.user == "two")
        #expect(netrc.login(forHost: "b.test", port: 21, scheme: "ftp") == nil)
        #expect(netrc.login(forHost: "c.test")?.user == "three")
    }

    @Test(arguments: [(0o644, false), (0o640, false), (0o666, true)])
    func notPrivate(_ mode: Int, _ shared: Bool) throws {
        let path = try file("machine a login b password c", mode: mode_t(mode))
        defer { unlink(path) }
        do throws(HTTPAuthError) {
            _ = try NetrcFile(path: path, sharedWithOthers: shared)
            Issue.record("read")
        } catch {
            #expect(error.code == .storeNotPrivate)
        }
    }

    @Test func unavailable() throws {
        for path in ["/nonexistent/netrc", "/", "/dev/null"] {
            do throws(HTTPAuthError) {
                _ = try NetrcFile(path: path)
                Issue.record("read")
            } catch {
                #expect(error.code == .storeUnavailable)
            }
        }
        let readable = try file("machine a login b password c", mode: 0o644)
        defer { unlink(readable) }
        #expect(try NetrcFile(path: readable, sharedWithOthers: true).isWritable == false)
    }
}
