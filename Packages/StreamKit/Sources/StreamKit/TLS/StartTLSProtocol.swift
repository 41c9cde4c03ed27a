/// A protocol that begins without TLS and starts it at the client's request, as in `openssl s_client -starttls`.
///
/// ```swift
/// let pair = StreamPair(host: "mail.example.org", port: 25)
/// try pair.open()
/// let secure = try await pair.startingTLS(by: .smtp)      // reads the greeting, starts TLS
/// try await secure.output.writeAll(Array("EHLO me\r\n".utf8))
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
