/// A protocol that begins in the clear and goes over to TLS when the client asks: what `openssl s_client -starttls` speaks.
///
/// ```swift
/// let pair = StreamPair(host: "mail.example.org", port: 25)
/// try pair.open()
/// let secure = try await pair.startingTLS(by: .smtp)      // the greeting is read, TLS is on
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
