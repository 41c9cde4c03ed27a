import FoundationEssentials
import HostResolver
import Testing

@testable import StreamKit

/// The conversation between a program and the process that runs a script, without either.
struct ProxyScriptConversationTests {
    private typealias Conversation = ProxyScriptConversation

    private static func make() throws -> Conversation {
        let url = try #require(URL(string: "http://www.example/a"))
        return Conversation("var x;", try #require(ProxyScriptQuestion(url)))
    }

    private static func frame(_ letter: Unicode.Scalar, _ text: String = "") -> [UInt8] {
        Conversation.frame(letter, Array(text.utf8))
    }

    @Test func goesWellAtEverySplit() throws {
        let bytes = Self.frame("R") + Self.frame("N", "a.example") + Self.frame("O") + Self.frame("A", "PROXY p:1")
        for split in 0...bytes.count {
            var conversation = try Self.make()
            var steps: [Conversation.Step] = []
            for part in [bytes[..<split], bytes[split...]] where !part.isEmpty {
                conversation.receive(part)
                while case let step = try conversation.next(), step != .receive {
                    steps.append(step)
                    if case .finish = step { break }
                }
            }
            let request = Self.frame("Q", "http://www.example/a\u{0}www.example\u{0}var x;")
            let proxy = ProxyChoice.server(ProxyServer(.http, host: "p", port: 1))
            #expect(steps == [.send(request), .lookUp("a.example"), .lookUp(nil), .finish([proxy])])
        }
    }

    @Test func repliesHoldAddressesAlone() throws {
        var conversation = try Self.make()
        conversation.receive(Self.frame("R") + Self.frame("N", "a") + Self.frame("O"))
        _ = try conversation.next()
        _ = try conversation.next()
        let addresses = ["192.0.2.1", "fe80::1%1", "2001:DB8::1"].compactMap { IPAddress($0) }
        let replies = (conversation.found(addresses), conversation.found([]))
        #expect(replies.0 == Self.frame("L", "192.0.2.1;2001:db8::1"))
        #expect(replies.1 == Self.frame("L"))
        _ = try conversation.next()
        let own = conversation.found([])
        #expect(own == Self.frame("L", "127.0.0.1"))
    }

    @Test(
        arguments: [
            ([], "ended before it was ready"),
            (frame("M", "no such file"), "(no such file)"),
            (frame("A", "DIRECT"), "failed"),
            (frame("N", "a"), "failed"),
            (frame("R"), "without an answer"),
            (frame("R") + [0x41, 9, 0, 0, 0] + "DIRECT".utf8, "without an answer"),
            (frame("R") + frame("R"), "failed"),
            (frame("R") + frame("P", "line 1: missing ;"), "cannot be read: line 1: missing ;."),
            (frame("R") + frame("F", "\u{1B}[31mred\n"), "failed: ?[31mred."),
            (frame("R") + frame("I"), "failed: it gave no reason."),
            (frame("R") + [0x41, 1, 0x40, 0, 0], "longer than the limit of 16384"),
            (frame("R") + [0x41, 0xFF, 0xFF, 0xFF, 0xFF], "longer than the limit of 16384"),
            (frame("R") + (0...ProxyScript.mostNames).flatMap { frame("N", "n\($0)") }, "more than 64 names"),
        ] as [([UInt8], String)])
    func fails(_ bytes: [UInt8], _ words: String) throws {
        var conversation = try Self.make()
        conversation.receive(bytes)
        let error = #expect(throws: StreamError.self) {
            while true {
                let step = try conversation.next()
                if step == .receive { conversation.receive([]) }
            }
        }
        #expect(error?.domain == .http && error?.code == 308)
        #expect(error?.description.contains(words) == true, "\(String(describing: error))")
    }

    @Test func answersNeedNotBeText() throws {
        var conversation = try Self.make()
        conversation.receive(Self.frame("R") + Conversation.frame("A", [0xFF, 0x3B] + Array("PROXY a:1".utf8)))
        _ = try conversation.next()
        let step = try conversation.next()
        #expect(step == .finish([.server(ProxyServer(.http, host: "a", port: 1))]))
    }
}
