internal import COpenSSL

/// The owner of a session that can be resumed.
final class TLSSession {
    private let pointer: OpaquePointer

    /// Takes over one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        SSL_SESSION_free(pointer)
    }

    /// Lends the pointer. It is good only inside: a bare copy would outlive the last use of this object.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// A ticket of TLS 1.3 is used once, so that nobody can tell that two connections are one client's (RFC 8446 §C.4).
    var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= CInt(TLSVersion.tls13.rawValue) }

    /// The same session to be used once more: OpenSSL marks one of TLS 1.3 as used up after its first use; nil without memory.
    func copy() -> TLSSession? {
        withPointer { SSL_SESSION_dup($0) }.map { TLSSession(owning: $0) }
    }

    var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }

    /// For how many seconds the server said it would know it; 0 if it did not say.
    var lifetime: Int64 { Int64(SSL_SESSION_get_ticket_lifetime_hint(pointer)) }
}

// OpenSSL counts the references to a session atomically and locks what it changes in one that connections share.
extension TLSSession: @unchecked Sendable {}
