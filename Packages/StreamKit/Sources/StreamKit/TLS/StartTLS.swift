/// A protocol that begins without TLS and starts it at the client's request, as in `openssl s_client -starttls`.
///
/// ```swift
/// let pair = StreamPair(host: "mail.example.org", port: 25)
/// try pair.open()
/// let secure = try await pair.startingTLS(by: .smtp)      // reads the greeting, starts TLS
/// try await secure.output.writeAll("EHLO me\r\n")
/// ```
public enum StartTLSProtocol: String, Sendable, Hashable, CaseIterable {
    /// `AUTH TLS` (RFC 4217).
    case ftp
    /// `STARTTLS` after `EHLO` (RFC 3207).
    case smtp
    /// `STARTTLS` (RFC 3501 §6.2.1).
    case imap
    /// `STLS` (RFC 2595 §4).
    case pop3
}

extension StreamPair {
    /// Performs the protocol's dialogue up to the point where TLS begins, and then the handshake.
    ///
    /// The pair must be open, and nothing may have been read from it. The returned pair takes it over. The dialogue and
    /// the handshake may each take as long as ``StreamProperty/openTimeout`` allows.
    ///
    /// - Parameters:
    ///   - dialogue: the protocol that the server speaks.
    ///   - configuration: as for ``StreamProperty/tls``. Its `peerName`, if set, takes precedence over the pair's host
    ///     name.
    /// - Returns: the open pair with TLS. The server sends nothing before it is asked.
    /// - Throws: `EPROTO` if the server refuses, does not speak that protocol, or sends data between its consent and
    ///   the handshake; otherwise the errors of `read` and `opened()`. The pair is then closed.
    public nonisolated(nonsending) func startingTLS(
        by dialogue: StartTLSProtocol, with configuration: TLSConfiguration = TLSConfiguration()
    ) async throws(StreamError) -> StreamPair {
        do throws(StreamError) {
            try await converse(dialogue)
            let secured = try StreamPair(
                securing: self, with: configuration, peerName: self[.remoteHostName], port: self[.remotePort])
            try secured.set(.openTimeout, to: self[.openTimeout])
            try secured.open()
            try await secured.input.opened()
            return secured
        } catch {
            close()
            throw error
        }
    }

    private nonisolated(nonsending) func converse(_ dialogue: StartTLSProtocol) async throws(StreamError) {
        var machine = StartTLSMachine(dialogue)
        var buffer = [UInt8](repeating: 0, count: 1024)
        let limit = self[.openTimeout] ?? .zero
        let deadline = ContinuousClock.now + limit
        let limits = (read: input[.readTimeout], write: output[.writeTimeout])
        while true {
            switch machine.next() {
            case .secure:
                try input.set(.readTimeout, to: limits.read)
                return try output.set(.writeTimeout, to: limits.write)
            case .send(let bytes):
                if limit > .zero { try output.set(.writeTimeout, to: max(deadline - .now, .nanoseconds(1))) }
                try await output.writeAll(bytes)
            case .read:
                if limit > .zero { try input.set(.readTimeout, to: max(deadline - .now, .nanoseconds(1))) }
                let count = try await input.read(into: &buffer)
                if count == 0 { throw machine.end() }
                try machine.receive(buffer[..<count])
            }
        }
    }
}

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
    static let maximumLineLength = 8192
    /// The maximum number of lines.
    static let maximumLines = 256

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
                if line.count > StartTLSMachine.maximumLineLength { throw .startTLS(.startTLSTooLong) }
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            lines += 1
            if lines > StartTLSMachine.maximumLines { throw .startTLS(.startTLSTooLong) }
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
        let code = text.utf8.prefix(3)
        guard code.count == 3, code.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return text.utf8.count == 3 || text.utf8.dropFirst(3).first == UInt8(ascii: " ") ? String(Substring(code)) : nil
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
            let head = text.utf8.prefix(4)
            guard head.last == UInt8(ascii: "-"), StartTLSMachine.code(String(Substring(head.dropLast()))) != nil else {
                throw refused(text)
            }
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

// MARK: - Messages

extension Sentence {
    fileprivate static func startTLSNotGreeted(_ kind: String, _ line: String) -> Sentence {
        Sentence("startTLS.greeting", "Expected the %1 greeting, but the server sent “%2”.", kind, readable(line))
    }

    fileprivate static func startTLSRefused(_ kind: String, _ line: String) -> Sentence {
        Sentence("startTLS.refused", "The %1 server refuses to start TLS: it answered “%2”.", kind, readable(line))
    }

    fileprivate static let startTLSNotOffered = Sentence(
        "startTLS.offer", "The server does not offer STARTTLS, or an attacker on the path has removed the offer.")

    fileprivate static let startTLSInjected = Sentence(
        "startTLS.injected",
        "Data arrived between the server's consent to TLS and the handshake: an attacker on the path may have inserted it."
    )

    fileprivate static let startTLSTooLong = Sentence(
        "startTLS.long", "The server sent too much before TLS began.")

    fileprivate static let startTLSEnded = Sentence(
        "startTLS.ended", "The server closed the connection before TLS began.")

    /// The first 80 characters of a server's line, with control characters replaced.
    private static func readable(_ text: String) -> String {
        let start = text.unicodeScalars.prefix(80).map { $0.properties.generalCategory == .control ? "?" : String($0) }
        return start.joined() + (text.unicodeScalars.count > 80 ? "…" : "")
    }
}
