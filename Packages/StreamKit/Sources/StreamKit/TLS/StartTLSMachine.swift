/// The dialogue before TLS begins: bytes in, one action out.
///
/// No byte may follow the line with the server's consent. An attacker on the network could inject data there that would
/// be taken for data received over TLS (CVE-2011-0411 and similar).
struct StartTLSMachine {
    /// The next step.
    enum Action: Equatable {
        /// Read, then call ``receive(_:)``.
        case read
        /// Send these bytes, then call ``next()`` again.
        case send([UInt8])
        /// Start the TLS handshake.
        case secure
    }

    /// The longest line, in bytes.
    static let longestLine = 8192
    /// The maximum number of lines.
    static let mostLines = 256

    private enum State {
        case greeting
        case features
        case consent
        case agreed
    }

    private let kind: StartTLSProtocol
    private var state = State.greeting
    private var line: [UInt8] = []
    private var lines = 0
    private var hasFeature = false
    private var unsent: [UInt8]?

    init(_ kind: StartTLSProtocol) {
        self.kind = kind
    }

    mutating func next() -> Action {
        if let bytes = unsent.take() { return .send(bytes) }
        if case .agreed = state { return .secure }
        return .read
    }

    /// Processes received bytes.
    ///
    /// - Throws: `EPROTO` if the server refuses, speaks another protocol, or exceeds a limit.
    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(StreamError) {
        for byte in bytes {
            // An answer must not arrive before the question was sent, either.
            if case .agreed = state { throw .startTLS(.startTLSInjected) }
            if unsent != nil { throw .startTLS(.startTLSInjected) }
            if byte != UInt8(ascii: "\n") {
                line.append(byte)
                if line.count > StartTLSMachine.longestLine { throw .startTLS(.startTLSTooLong) }
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            lines += 1
            if lines > StartTLSMachine.mostLines { throw .startTLS(.startTLSTooLong) }
            let text = String(decoding: line, as: UTF8.self)
            line = []
            switch kind {
            case .ftp: try takeFTP(text)
            case .smtp: try takeSMTP(text)
            case .imap: try takeIMAP(text)
            case .pop3: try takePOP3(text)
            }
        }
    }

    /// The error for the end of the stream.
    func end() -> StreamError { .startTLS(.startTLSEnded) }

    private mutating func send(_ command: String, then next: State) {
        unsent = Array("\(command)\r\n".utf8)
        state = next
    }

    private func refused(_ text: String) -> StreamError {
        switch state {
        case .greeting: .startTLS(.startTLSNotGreeted(kind.rawValue, text))
        case .features, .consent, .agreed: .startTLS(.startTLSRefused(kind.rawValue, text))
        }
    }

    // MARK: Replies with three digits (FTP and SMTP)

    /// The code of a reply's last line; nil for a line that others follow.
    private static func code(_ text: String) -> String? {
        let code = text.prefix(3)
        guard code.utf8.count == 3, code.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return text.utf8.count == 3 || text.dropFirst(3).first == " " ? String(code) : nil
    }

    private mutating func takeFTP(_ text: String) throws(StreamError) {
        // Lines within a reply need not begin with its code (RFC 959 §4.2). The last line of another reply cannot occur
        // there.
        guard let code = StartTLSMachine.code(text) else { return }
        switch (state, code) {
        case (.greeting, "120"): break  // ready in some minutes
        case (.greeting, "220"): send("AUTH TLS", then: .consent)
        case (.consent, "234"): state = .agreed
        default: throw refused(text)
        }
    }

    private mutating func takeSMTP(_ text: String) throws(StreamError) {
        if case .features = state, text.hasPrefix("250"), text.dropFirst(4).uppercased() == "STARTTLS" {
            hasFeature = true
        }
        guard let code = StartTLSMachine.code(text) else {
            // Every line of a reply begins with its code (RFC 5321 §4.2).
            let head = text.prefix(4)
            guard head.last == "-", StartTLSMachine.code(String(head.dropLast())) != nil else { throw refused(text) }
            return
        }
        switch (state, code) {
        case (.greeting, "220"): send("EHLO localhost", then: .features)
        case (.features, "250"):
            guard hasFeature else { throw .startTLS(.startTLSNotOffered) }
            send("STARTTLS", then: .consent)
        case (.consent, "220"): state = .agreed
        default: throw refused(text)
        }
    }

    // MARK: IMAP and POP3

    private mutating func takeIMAP(_ text: String) throws(StreamError) {
        let upper = text.uppercased()
        switch state {
        // A session that begins authenticated cannot start TLS (RFC 3501 §6.2.1).
        case .greeting where upper.hasPrefix("* OK"): send("a STARTTLS", then: .consent)
        case .consent where upper.hasPrefix("A OK"): state = .agreed
        case .consent where text.hasPrefix("* ") && !upper.hasPrefix("* BYE"): break
        case .greeting, .features, .consent, .agreed: throw refused(text)
        }
    }

    private mutating func takePOP3(_ text: String) throws(StreamError) {
        guard text.hasPrefix("+OK") else { throw refused(text) }
        switch state {
        case .greeting: send("STLS", then: .consent)
        case .features, .consent, .agreed: state = .agreed
        }
    }
}

extension StreamError {
    static func startTLS(_ sentence: Sentence) -> StreamError {
        StreamError(posix: 71, sentence)  // EPROTO
    }
}
