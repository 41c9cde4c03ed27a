import Foundation
import Peers
import Testing

@testable import netkit

/// What peers say is shown, and a terminal finds nothing in it to obey: no control character, and nothing that turns text round.
@Suite struct OutputTests {
    /// What no output may hold but as `\u…`.
    private static let forbidden: Set<Unicode.Scalar> = {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        ]
        return Set(ranges.joined().compactMap(Unicode.Scalar.init))
    }()

    @Test func escapesEachCharacter() throws {
        for scalar in Self.forbidden {
            let stranger = "a\(Character(scalar))b"
            #expect(("\(stranger)" as ShownText).text == "a\\u{\(String(scalar.value, radix: 16))}b")
            #expect((ShownText(lines: stranger).text == stranger) == (scalar == "\n"))
            let json = JSONOutput.line(["key": stranger]).text
            #expect(json.unicodeScalars.allSatisfy { !Self.forbidden.contains($0) })
            let back = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String]
            #expect(back == ["key": stranger])
        }
        #expect(
            ("grün → 日本\n\u{1B}[1m" as ShownText).text == "grün → 日本\n\u{1B}[1m", "what the program itself says stays")
        #expect(ShownText(json: "\u{E0001}").text == "\\udb40\\udc01")
    }

    // MARK: Verbs

    /// What a peer puts into one of its fields.
    enum Stranger: String, CaseIterable {
        case controls, nul, escape, c1, direction, raw

        var bytes: [UInt8] {
            func text(_ ranges: ClosedRange<UInt32>...) -> [UInt8] {
                Array(String(String.UnicodeScalarView(ranges.joined().compactMap(Unicode.Scalar.init))).utf8)
            }
            return switch self {
            case .controls: text(0x01...0x08, 0x0B...0x0C, 0x0E...0x1F, 0x7F...0x7F)
            case .nul: [0]
            case .escape: Array("\u{1B}[2J".utf8)
            case .c1: text(0x80...0x9F)
            case .direction: text(0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069)
            // ISO 8859-1, as no UTF-8 is: CSI 2 J, then what begins a character and does not go on.
            case .raw: [0x9B, 0x32, 0x4A, 0xFF, 0xC2, 0xE2, 0x80]
            }
        }
    }

    private static func message(_ lines: [[UInt8]]) -> [UInt8] { Array((lines + [[]]).map { $0 + [13, 10] }.joined()) }

    /// Runs it, and looks for what a terminal would obey.
    private func netkit(_ arguments: [String], _ stranger: Stranger) async throws {
        let run = try await Tool.run(arguments)
        let found = run.text.unicodeScalars.filter { Self.forbidden.contains($0) && $0 != "\n" }
        #expect(found.isEmpty, "\(stranger): \(arguments): \(found.map { String($0.value, radix: 16) })")
        // Of a body nothing is printed here, so that all of it is text.
        #expect(!run.text.isEmpty, "\(stranger): \(arguments) says nothing")
    }

    /// Verbs of HTTP, and the answer: its status line and fields all have the stranger's bytes in them.
    @Test(arguments: Stranger.allCases)
    func http(_ stranger: Stranger) async throws {
        let odd = stranger.bytes
        func field(_ name: String, _ before: String = "", _ after: String = "") -> [UInt8] {
            Array("\(name): \(before)".utf8) + odd + Array(after.utf8)
        }
        func server(_ status: String, _ fields: [UInt8]..., hasReason: Bool = true) throws -> ScriptedServer {
            let line = Array("HTTP/1.1 \(status) ".utf8) + (hasReason ? odd : [])
            let answer = Self.message([line] + fields + [Array("Content-Length: 0".utf8)])
            return try ScriptedServer { connection throws(PeerError) in
                _ = try connection.readHead()
                try connection.send(answer)
            }
        }
        for hasReason in [true, false] {
            let page = try server("404", field("Server"), field("X-Odd"), hasReason: hasReason)
            for form in [["--head"], ["--head", "--report"], ["--json"], ["--head", "--json"]] {
                try await netkit(["get", "http://127.0.0.1:\(page.port)/"] + form, stranger)
            }
            try await netkit(["diagnose", "-v", "http://127.0.0.1:\(page.port)/"], stranger)
        }
        for upgrade in [["get"], ["get", "--json"]] {
            let switching = try server("101", field("Upgrade"), Array("Connection: upgrade".utf8))
            try await netkit(upgrade + ["http://127.0.0.1:\(switching.port)/"], stranger)
        }
        let moved = try server("302", field("Location", "gopher://h/"))
        try await netkit(["get", "-L", "http://127.0.0.1:\(moved.port)/"], stranger)
        for form in [["-v"], ["--json"]] {
            try await netkit(["diagnose", "http://127.0.0.1:\(moved.port)/"] + form, stranger)
        }
        let asking = try server("401", field("WWW-Authenticate", "Basic realm=\"", "\", Odd"))
        for form in [[], ["--json"]] {
            try await netkit(["explain-auth", "http://127.0.0.1:\(asking.port)/"] + form, stranger)
        }
        try await netkit(["get", "-u", "ann", "http://127.0.0.1:\(asking.port)/"], stranger)
        let proxy = try server("403", field("Proxy-Status"))
        let through = ["-x", "http://127.0.0.1:\(proxy.port)"]
        for form in [[], ["--report"], ["--json"]] {
            try await netkit(["get", "https://h.invalid/"] + through + form, stranger)
            try await netkit(["connect", "h.invalid:1"] + through + form, stranger)
        }
    }

    /// Verbs of FTP: the replies, and the names, owners and targets of a listing.
    @Test(arguments: Stranger.allCases)
    func ftp(_ stranger: Stranger) async throws {
        let odd = stranger.bytes
        let line =
            Array("lrwxrwxrwx 1 o".utf8) + odd + Array(" g 7 Jan 1 2020 n".utf8) + odd + Array(" -> t".utf8) + odd
        let data = try ScriptedServer { connection throws(PeerError) in try connection.send(line + [13, 10]) }
        let control = try ScriptedServer { connection throws(PeerError) in
            try connection.send("220 ready\r\n")
            while let command = try? connection.read(until: "\r\n") {
                switch command.prefix(4).uppercased() {
                case "USER": try connection.send("331 go on\r\n")
                case "PASS", "CWD ", "TYPE": try connection.send("230 fine\r\n")
                case "EPSV": try connection.send("229 here (|||\(data.port)|)\r\n")
                case "LIST": try connection.send("150 coming\r\n226 done\r\n")
                case "MLSD", "FEAT", "OPTS", "PWD\r", "SYST": try connection.send("502 no\r\n")
                default: try connection.send(Array("550 ".utf8) + odd + [13, 10])
                }
            }
        }
        let url = "ftp://127.0.0.1:\(control.port)"
        for form in [[], ["-l"], ["--json"]] { try await netkit(["ls", "\(url)/"] + form, stranger) }
        for form in [[], ["--json"]] {
            try await netkit(["mkdir", "\(url)/a"] + form, stranger)
            try await netkit(["get", "\(url)/a"] + form, stranger)
        }
        let closed = try ScriptedServer { connection throws(PeerError) in
            try connection.send(Array("421 ".utf8) + odd + [13, 10])
        }
        for verb in ["ls", "get", "diagnose"] { try await netkit([verb, "ftp://127.0.0.1:\(closed.port)/"], stranger) }
    }

    @Test(arguments: Stranger.allCases)
    func names(_ stranger: Stranger) async throws {
        let text = String(decoding: stranger.bytes, as: UTF8.self)
        let server = try ScriptedNameServer { [.answer([.txt($0.name, text)])] }
        for form in [[], ["--json"]] {
            try await netkit(
                ["resolve", "--server", "127.0.0.1:\(server.port)", "--type", "TXT", "odd.test"] + form, stranger)
        }
    }

    /// A challenge of NTLM ([MS-NLMP] 2.2.1.2) whose target has the stranger's name.
    @Test(arguments: Stranger.allCases)
    func tokens(_ stranger: Stranger) async throws {
        let name = String(decoding: stranger.bytes, as: UTF8.self).utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let length = [UInt8(name.count & 0xFF), UInt8(name.count >> 8)]
        let token =
            Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + length + length + [48, 0, 0, 0] + [1, 2, 0x81, 0]
            + (1...8).map { UInt8($0) } + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 0, 48, 0, 0, 0] + name
        for form in [[], ["--json"]] {
            try await netkit(["token", "decode", "NTLM \(Data(token).base64EncodedString())"] + form, stranger)
        }
    }
}
