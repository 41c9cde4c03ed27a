/// Why a stream failed, where a program may have to decide and domain and code do not tell: CFNetwork has one number for several cases.
///
/// ```swift
/// var configuration = TLSConfiguration()
/// do throws(StreamError) {
///     configuration.identity = try TLSIdentity(file: "client.pem")
/// } catch {
///     print(error.reason == .encryptedKey ? "The key has a password." : "\(error)")
/// }
/// ```
///
/// Sentences are for people: programs decide by domain, code and reason. More cases may be added.
@nonexhaustive
public enum StreamErrorReason: Sendable, Hashable {
    // MARK: TLS

    /// The peer answered a TLS handshake in another protocol. Code: ``TLSFailure/protocolViolation``.
    case foreignProtocol
    /// The peer answered a TLS handshake with a reply of three digits, as servers of FTP and mail send in plaintext.
    case foreignReply
    /// A private key is encrypted, and no password was given.
    case encryptedKey
    /// A private key or a PKCS#12 bundle is encrypted with another password.
    case wrongPassword

    // MARK: Bodies

    /// The data ended before the message was complete.
    case cutShort
    /// The content coding of the data cannot be decoded.
    case undecodable
    /// The server does not continue an interrupted transfer.
    case notResumed

    // MARK: This machine

    /// A local file or folder cannot be used. The code is an `errno`.
    case localFile
    /// A call on a local file has not returned in time, or no thread could make it. The code is `ETIMEDOUT`, or the `errno` of the thread.
    case unansweredCall
    /// The proxy settings of the environment or of a file are invalid.
    case invalidProxySettings

    // MARK: Proxy scripts

    /// This machine cannot run the proxy script, which may be correct.
    case scriptNotRunnable
    /// The proxy script could not be loaded: the connection to its server failed.
    case scriptUnreachable
    /// The server of the proxy script responded with an error, or the URL is not that of a local file where only those are loaded.
    case scriptMissing
    /// The text is not a proxy script.
    case scriptInvalid
}
