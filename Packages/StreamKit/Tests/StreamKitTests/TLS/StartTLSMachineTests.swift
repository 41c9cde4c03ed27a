import EventLoops
import Testing

@testable import StreamKit
@testable import StreamTLS

/// The dialogues before TLS, whole, at every split and byte by byte.
struct StartTLSMachineTests {
    /// The server's lines, and the commands that the client sends.
    private struct Dialogue: Sendable {
        var kind: StartTLSProtocol
        var lines: [String]
        var commands: [String]
    }

    private static let dialogues = [
        Dialogue(kind: .ftp, lines: ["220 ready\r\n", "234 go\r\n"], commands: ["AUTH TLS\r\n"]),
        Dialogue(
            kind: .ftp,
            lines: ["120 soon\r\n220-Welcome\r\n  all\r\n220-more\r\n220 ready\r\n", "234-well\r\n234 go\r\n"],
            commands: ["AUTH TLS\r\n"]),
        Dialogue(
            kind: .smtp,
            lines: ["220-a\r\n220 b\r\n", "250-me\r\n250-SIZE 9\r\n250-starttls\r\n250 HELP\r\n", "220 go\r\n"],
            commands: ["EHLO localhost\r\n", "STARTTLS\r\n"]),
        Dialogue(
            kind: .smtp, lines: ["220 b\n", "250-me\n250 STARTTLS\n", "220\n"],
            commands: ["EHLO localhost\r\n", "STARTTLS\r\n"]),
        Dialogue(
            kind: .imap, lines: ["* OK [CAPABILITY STARTTLS] hello\r\n", "* CAPABILITY X\r\na OK begin\r\n"],
            commands: ["a STARTTLS\r\n"]),
        // U+0301 forms one character with the space before it.
        Dialogue(kind: .ftp, lines: ["220 \u{301}ready\r\n", "234 \u{301}go\r\n"], commands: ["AUTH TLS\r\n"]),
        Dialogue(kind: .pop3, lines: ["+OK <1@host>\r\n", "+OK begin\r\n"], commands: ["STLS\r\n"]),
    ]

    /// Plays a dialogue in pieces of these sizes. Returns the client's commands.
    private static func play(
        _ kind: StartTLSProtocol, _ lines: [String], pieces: (Int) -> [Int]
    ) throws(StreamError) -> (commands: [String], isSecure: Bool) {
        var machine = StartTLSMachine(kind)
        var commands: [String] = []
        for text in lines {
            var rest = Array(text.utf8)[...]
            for size in pieces(rest.count) where !rest.isEmpty {
                try machine.receive(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            if case .send(let bytes) = machine.next() { commands.append(String(decoding: bytes, as: UTF8.self)) }
        }
        return (commands, machine.next() == .secure)
    }

    @Test func dialoguesAtEverySplit() throws {
        for dialogue in Self.dialogues {
            let longest = dialogue.lines.map(\.utf8.count).max() ?? 0
            for split in 0...longest {
                let (commands, isSecure) = try Self.play(dialogue.kind, dialogue.lines) { [split, max(0, $0 - split)] }
                #expect(commands == dialogue.commands && isSecure)
            }
            let (commands, isSecure) = try Self.play(dialogue.kind, dialogue.lines) { Array(repeating: 1, count: $0) }
            #expect(commands == dialogue.commands && isSecure)
        }
    }

    @Test("A byte after the consent is an error", arguments: ["x", "\r\n", "220 again\r\n", "\u{16}"])
    func injected(_ extra: String) {
        for dialogue in Self.dialogues {
            var lines = dialogue.lines
            lines[lines.count - 1] += extra
            let error = #expect(throws: StreamError.self) { try Self.play(dialogue.kind, lines) { [$0] } }
            #expect(error?.description.contains("between the server's consent") == true)
        }
    }

    @Test("An answer before its question is an error")
    func early() {
        for (kind, text) in [
            (StartTLSProtocol.ftp, "220 a\r\n234 go\r\n"), (.imap, "* OK\r\na OK\r\n"), (.pop3, "+OK\r\n+OK\r\n"),
        ] {
            #expect(throws: StreamError.self) { try Self.play(kind, [text]) { [$0] } }
        }
    }

    @Test(arguments: [
        (StartTLSProtocol.ftp, ["421 full\r\n"], "the ftp greeting"), (.ftp, ["220 a\r\n", "502 no\r\n"], "“502 no”"),
        (.ftp, ["220 a\r\n", "530 \u{1B}[2J\r\n"], "530 ?[2J"),
        (.smtp, ["554 no\r\n"], "the smtp greeting"), (.smtp, ["HTTP/1.1 400\r\n"], "the smtp greeting"),
        (.smtp, ["220 a\r\n", "250 me\r\n"], "does not offer"), (.smtp, ["220 a\r\n", "502 me\r\n"], "“502 me”"),
        (.smtp, ["220 a\r\n", "250 STARTTLS\r\n", "454 later\r\n"], "“454 later”"),
        (.imap, ["* PREAUTH hi\r\n"], "the imap greeting"), (.imap, ["* OK\r\n", "a NO\r\n"], "“a NO”"),
        (.imap, ["* OK\r\n", "* BYE\r\n"], "“* BYE”"), (.pop3, ["-ERR\r\n"], "the pop3 greeting"),
        (.pop3, ["+OK\r\n", "-ERR no\r\n"], "“-ERR no”"),
    ])
    func refused(_ kind: StartTLSProtocol, _ lines: [String], _ words: String) {
        let error = #expect(throws: StreamError.self) { try Self.play(kind, lines) { [$0] } }
        #expect(error?.isPOSIX(71) == true && error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func bounded() {
        for kind in StartTLSProtocol.allCases {
            var machine = StartTLSMachine(kind)
            let long = [UInt8](repeating: 65, count: StartTLSMachine.maximumLineLength + 1)
            #expect(throws: StreamError.self) { try machine.receive(long[...]) }
        }
        var machine = StartTLSMachine(.ftp)
        let lines = Array(String(repeating: "220-\n", count: StartTLSMachine.maximumLines + 1).utf8)
        #expect(throws: StreamError.self) { try machine.receive(lines[...]) }
    }
}
