import Glibc
import Testing

@testable import StreamKit

@Suite struct StreamErrorTests {
    // Parity: SK-045
    @Test("SK-045: errors are equal if domain and code are, whatever the message") func equality() {
        let one = StreamError(posix: ECONNREFUSED)
        let other = StreamError(posix: ECONNREFUSED, .connectFailed("192.0.2.1:80", ECONNREFUSED), underlying: one)
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != StreamError(domain: .netDB, code: one.code, sentence: one.sentence))
        #expect(one != StreamError(posix: ECONNRESET))
        #expect(other.underlying as? StreamError == one)
        #expect(one.isPOSIX(ECONNREFUSED) && !one.isPOSIX(ECONNRESET))
        #expect(MemoryLayout<StreamError>.size == MemoryLayout<Int>.size)
    }

    // Parity: SK-047
    @Test(
        "SK-047: the domains have CFNetwork's numbers",
        arguments: [
            (StreamErrorDomain.custom, -1), (.posix, 1), (.macOSStatus, 2), (.ssl, 3), (.http, 4), (.socks, 5),
            (.ftp, 6),
            (.netServices, 10), (.mach, 11), (.netDB, 12), (.systemConfiguration, 13),
        ])
    func domains(_ domain: StreamErrorDomain, _ number: Int) {
        #expect(domain.rawValue == number)
    }

    @Test func timeoutsAndCancellationsAreRecognizedInEveryLayer() {
        let wrapped = StreamError(posix: EPIPE, underlying: StreamError.timedOut)
        #expect(StreamError.timedOut.isTimeout && wrapped.isTimeout && StreamError(posix: ETIMEDOUT).isTimeout)
        #expect(StreamError.cancelled.isCancellation && !StreamError.cancelled.isTimeout)
        #expect(!StreamError.closed.isTimeout && !StreamError.closed.isCancellation)
    }

    @Test func domainsHaveNames() {
        #expect("\(StreamErrorDomain.netDB)" == "netDB")
        #expect("\(StreamErrorDomain(rawValue: 99))" == "99")
    }

    // Parity: SK-046
    @Test("SK-046: errors describe themselves in sentences") func sentences() {
        #expect(StreamError.closed.description == "The stream was closed on this side.")
        let refused = StreamError(posix: ECONNREFUSED, .connectFailed("192.0.2.1:80", ECONNREFUSED))
        #expect("\(refused)" == "The connection to 192.0.2.1:80 was refused: nothing is listening there.")
        #expect(refused.debugDescription.hasSuffix("(domain posix, code 111)"))
        #expect(StreamError(posix: EPERM).description.contains("(errno 1)"))
    }

    @Test(arguments: [
        ("plain", [], "plain"),
        ("%1 and %2, %1", ["a", "b"], "a and b, a"),
        ("100% of %1", ["it"], "100% of it"),
        ("%3 %0 %", ["a"], "%3 %0 %"),
        ("%1", ["%2"], "%2"),
    ])
    func fillsTemplates(_ template: String, _ arguments: [String], _ text: String) {
        var sentence = Sentence("test.template", template)
        switch arguments.count {
        case 1: sentence = Sentence("test.template", template, arguments[0])
        case 2: sentence = Sentence("test.template", template, arguments[0], arguments[1])
        default: break
        }
        #expect(sentence.description == text)
    }

    @Test("a catalogue translates its keys; other keys stay English") func catalogue() {
        let sentence = Sentence("test.catalogue", "Hello %1", "you")
        Sentence.catalogue(["test.catalogue": "Hallo %1"])
        defer { Sentence.catalogue([:]) }
        #expect(sentence.description == "Hallo you")
        #expect(sentence.template == "Hello %1")
        #expect(Sentence.closed.description == "The stream was closed on this side.")
    }
}

/// Messages that quote peers contain no control characters.
struct SentenceTests {
    @Test("Arguments contain no terminal control, line break or change of text direction")
    func escapesArguments() {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
        ]
        for scalar in ranges.joined().compactMap(Unicode.Scalar.init) {
            let sentence = Sentence("test", "It says %1.", "a\(Character(scalar))b")
            #expect(sentence.description == "It says a\\u{\(String(scalar.value, radix: 16))}b.")
            #expect(!sentence.arguments[0].unicodeScalars.contains(scalar))
        }
        #expect(Sentence("test", "%1\n", "grün, 日本").description == "grün, 日本\n")
    }
}
