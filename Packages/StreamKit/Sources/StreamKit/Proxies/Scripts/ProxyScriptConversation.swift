internal import HostResolver

/// This process's side of the conversation with the process that runs a script: bytes go in, the next step comes out.
///
/// `CProxyScript.h` describes the frames.
struct ProxyScriptConversation {
    /// The next step.
    enum Step: Equatable {
        /// Read, then call ``receive(_:)`` with the bytes; no bytes mean the end.
        case receive
        /// Write these bytes.
        case send([UInt8])
        /// Look up a name that the script asks for, or this machine's own name if nil; then call ``found(_:)``.
        case lookUp(String?)
        /// The script has answered.
        case finish([ProxyChoice])
    }

    private static let headLength = 5

    private let request: [UInt8]
    private var received: [UInt8] = []
    private var isReady = false
    private var hasEnded = false
    private var names = 0
    private var wantsOwnName = false

    /// Makes a conversation about one question.
    init(_ script: String, _ question: ProxyScriptQuestion) {
        request = ProxyScriptConversation.frame(
            "Q", Array(question.url.utf8) + [0] + question.host.utf8 + [0] + script.utf8)
    }

    /// Processes bytes from the process. No bytes mean that it has closed its end.
    mutating func receive(_ bytes: some Collection<UInt8>) {
        received += bytes
        hasEnded = hasEnded || bytes.isEmpty
    }

    /// Returns the frame with the result of a lookup; empty if the name has no address.
    mutating func found(_ addresses: [IPAddress]) -> [UInt8] {
        // A script cannot use a zone, and only digits, dots and colons may enter its text.
        let isHarmless: (String) -> Bool = { $0.utf8.allSatisfy { ($0 | 0x20).isHexDigit || $0 == 0x2E || $0 == 0x3A } }
        var texts = addresses.map { "\($0)" }.filter(isHarmless)
        if texts.isEmpty, wantsOwnName { texts = ["127.0.0.1"] }
        return ProxyScriptConversation.frame("L", Array(texts.joined(separator: ";").utf8))
    }

    /// Returns the next step.
    ///
    /// - Throws: domain `http`, code 308, if the script cannot be run, failed, asked for too many names or returned an
    ///   invalid answer.
    mutating func next() throws(StreamError) -> Step {
        guard let (letter, text) = try takeFrame() else {
            if hasEnded { throw .script(isReady ? .scriptEndedEarly : .scriptNotStarted) }
            return .receive
        }
        switch letter {
        case "M": throw .scriptsUnavailable(text)
        case "R" where !isReady:
            isReady = true
            return .send(request)
        case "N" where isReady, "O" where isReady:
            names += 1
            if names > ProxyScript.mostNames { throw .script(.scriptNamesTooMany(ProxyScript.mostNames)) }
            wantsOwnName = letter == "O"
            return .lookUp(wantsOwnName ? nil : text)
        case "A" where isReady: return .finish(try ProxyScriptAnswer(text).choices)
        case "P" where isReady: throw .script(.scriptUnreadable(text))
        default: throw .script(.scriptFailed(text))
        }
    }

    /// Removes the next complete frame from the received bytes.
    private mutating func takeFrame() throws(StreamError) -> (letter: Unicode.Scalar, text: String)? {
        guard received.count >= ProxyScriptConversation.headLength else { return nil }
        let length = received[1..<5].reversed().reduce(0) { $0 << 8 | Int($1) }
        if length > ProxyScript.longestAnswer { throw .script(.scriptAnswerTooLong(ProxyScript.longestAnswer)) }
        let end = ProxyScriptConversation.headLength + length
        guard received.count >= end else { return nil }
        let text = String(decoding: received[ProxyScriptConversation.headLength..<end], as: UTF8.self)
        let letter = Unicode.Scalar(received[0])
        received.removeFirst(end)
        return (letter, text)
    }

    /// A letter, the length of the text in four bytes, the text.
    static func frame(_ letter: Unicode.Scalar, _ text: [UInt8]) -> [UInt8] {
        let length = UInt32(clamping: text.count)
        return [UInt8(ascii: letter)] + (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + text
    }
}

extension UInt8 {
    /// Whether this is a digit, or a lower-case letter from a to f.
    fileprivate var isHexDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}
