import Foundation
import Peers
import Testing

@testable import netkit

/// Text from peers is printed without control characters and without changes of text direction.
@Suite struct OutputTests {
    /// The characters that output may hold only as `\u…`.
    private static let forbidden: Set<Unicode.Scalar> = {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        ]
        return Set(ranges.joined().compactMap(Unicode.Scalar.init))
    }()

    @Test func escapesEachCharacter() throws {
        for scalar in Self.forbidden {
            let text = "a\(Character(scalar))b"
            #expect(("\(text)" as ShownText).text == "a\\u{\(String(scalar.value, radix: 16))}b")
            #expect((ShownText(lines: text).text == text) == (scalar == "\n"))
            let json = JSONOutput.line(["key": text]).text
            #expect(json.unicodeScalars.allSatisfy { !Self.forbidden.contains($0) })
            let back = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: String]
            #expect(back == ["key": text])
        }
        #expect(
            ("grün → 日本\n\u{1B}[1m" as ShownText).text == "grün → 日本\n\u{1B}[1m", "literal text is not escaped")
        #expect(ShownText(json: "\u{E0001}").text == "\\udb40\\udc01")
    }

    // MARK: Verbs

    /// Bytes that a hostile peer sends.
    enum HostileText: String, CaseIterable {
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
            // Invalid UTF-8: CSI 2 J in ISO 8859-1, then incomplete characters.
            case .raw: [0x9B, 0x32, 0x4A, 0xFF, 0xC2, 0xE2, 0x80]
            }
        }
    }

    private static func message(_ lines: [[UInt8]]) -> [UInt8] { Array((lines + [[]]).map { $0 + [13, 10] }.joined()) }

    /// Runs netkit, and checks its output for forbidden characters.
    private func netkit(_ arguments: [String], _ hostile: HostileText) async throws {
        let run = try await Tool.run(arguments)
        let found = run.text.unicodeScalars.filter { Self.forbidden.contains($0) && $0 != "\n" }
        #expect(found.isEmpty, "\(hostile): \(arguments): \(found.map { String($0.value, radix: 16) })")
        // No body is printed here, so every run has output of its own.
        #expect(!run.text.isEmpty, "\(hostile): \(arguments) prints nothing")
    }

    /// HTTP: the status line and the fields of the response hold the hostile bytes.
    @Test(arguments: HostileText.allCases)
    func http(_ hostile: HostileText) async throws {
        let odd = hostile.bytes
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
                try await netkit(["get", "http://127.0.0.1:\(page.port)/"] + form, hostile)
            }
            try await netkit(["diagnose", "-v", "http://127.0.0.1:\(page.port)/"], hostile)
        }
        for upgrade in [["get"], ["get", "--json"]] {
            let switching = try server("101", field("Upgrade"), Array("Connection: upgrade".utf8))
            try await netkit(upgrade + ["http://127.0.0.1:\(switching.port)/"], hostile)
        }
        let moved = try server("302", field("Location", "gopher://h/"))
        try await netkit(["get", "-L", "http://127.0.0.1:\(moved.port)/"], hostile)
        for form in [["-v"], ["--json"]] {
            try await netkit(["diagnose", "http://127.0.0.1:\(moved.port)/"] + form, hostile)
        }
        let asking = try server("401", field("WWW-Authenticate", "Basic realm=\"", "\", Odd"))
        for form in [[], ["--json"]] {
            try await netkit(["explain-auth", "http://127.0.0.1:\(asking.port)/"] + form, hostile)
        }
        try await netkit(["get", "-u", "ann", "http://127.0.0.1:\(asking.port)/"], hostile)
        let proxy = try server("403", field("Proxy-Status"))
        let through = ["-x", "http://127.0.0.1:\(proxy.port)"]
        for form in [[], ["--report"], ["--json"]] {
            try await netkit(["get", "https://h.invalid/"] + through + form, hostile)
            try await netkit(["connect", "h.invalid:1"] + through + form, hostile)
        }
    }

    /// FTP: the replies, and the names, owners and link targets of a listing hold the hostile bytes.
    @Test(arguments: HostileText.allCases)
    func ftp(_ hostile: HostileText) async throws {
        let odd = hostile.bytes
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
        for form in [[], ["-l"], ["--json"]] { try await netkit(["ls", "\(url)/"] + form, hostile) }
        for form in [[], ["--json"]] {
            try await netkit(["mkdir", "\(url)/a"] + form, hostile)
            try await netkit(["get", "\(url)/a"] + form, hostile)
        }
        let closed = try ScriptedServer { connection throws(PeerError) in
            try connection.send(Array("421 ".utf8) + odd + [13, 10])
        }
        for verb in ["ls", "get", "diagnose"] { try await netkit([verb, "ftp://127.0.0.1:\(closed.port)/"], hostile) }
    }

    @Test(arguments: HostileText.allCases)
    func names(_ hostile: HostileText) async throws {
        let text = String(decoding: hostile.bytes, as: UTF8.self)
        let server = try ScriptedNameServer { [.answer([.txt($0.name, text)])] }
        for form in [[], ["--json"]] {
            try await netkit(
                ["resolve", "--server", "127.0.0.1:\(server.port)", "--type", "TXT", "odd.test"] + form, hostile)
        }
    }

    /// An NTLM challenge ([MS-NLMP] 2.2.1.2) whose target name holds the hostile bytes.
    @Test(arguments: HostileText.allCases)
    func tokens(_ hostile: HostileText) async throws {
        let name = String(decoding: hostile.bytes, as: UTF8.self).utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let length = [UInt8(name.count & 0xFF), UInt8(name.count >> 8)]
        let token =
            Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + length + length + [48, 0, 0, 0] + [1, 2, 0x81, 0]
            + (1...8).map { UInt8($0) } + [UInt8](repeating: 0, count: 8) + [0, 0, 0, 0, 48, 0, 0, 0] + name
        for form in [[], ["--json"]] {
            try await netkit(["token", "decode", "NTLM \(Data(token).base64EncodedString())"] + form, hostile)
        }
    }
}
