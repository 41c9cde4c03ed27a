internal import COpenSSL

/// Owns a session that can be resumed.
final class TLSSession {
    private let pointer: OpaquePointer

    /// Takes ownership of one reference.
    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        SSL_SESSION_free(pointer)
    }

    /// Calls `body` with the pointer, which is valid only during the call: outside of it, Swift may release this object
    /// before the pointer's last use.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        withExtendedLifetime(self) { body(pointer) }
    }

    /// Whether to use the session once. A TLS 1.3 ticket is, so that two connections cannot be attributed to the same
    /// client (RFC 8446 §C.4).
    var isSingleUse: Bool { SSL_SESSION_get_protocol_version(pointer) >= CInt(TLSVersion.tls13.rawValue) }

    /// A copy to be used once more: OpenSSL marks a TLS 1.3 session as used up after its first use. Nil if out of
    /// memory.
    func copy() -> TLSSession? {
        withPointer { SSL_SESSION_dup($0) }.map { TLSSession(owning: $0) }
    }

    var isResumable: Bool { SSL_SESSION_is_resumable(pointer) == 1 }

    /// The lifetime that the server announced, in seconds; 0 if it announced none.
    var lifetime: Int64 { Int64(SSL_SESSION_get_ticket_lifetime_hint(pointer)) }
}

// OpenSSL counts references to a session atomically, and locks the parts of a shared session that it changes.
extension TLSSession: @unchecked Sendable {}
