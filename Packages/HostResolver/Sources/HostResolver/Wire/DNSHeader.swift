/// The header of a message, without its counts: the ID and the flags (RFC 1035 §4.1.1).
public struct DNSHeader: Hashable, Sendable {
    /// The ID, by which an answer is matched to its query.
    public var id: UInt16
    /// The 16 bits after the ID, as on the wire.
    public var bits: UInt16

    /// Creates a header.
    public init(id: UInt16, bits: UInt16 = 0) {
        self.id = id
        self.bits = bits
    }

    /// QR: whether the message is an answer, not a query.
    public var isResponse: Bool {
        get { self[15] }
        set { self[15] = newValue }
    }

    /// AA: whether the server is an authority for the name.
    public var isAuthoritative: Bool {
        get { self[10] }
        set { self[10] = newValue }
    }

    /// TC: whether the message is truncated. The complete message is available over TCP.
    public var isTruncated: Bool {
        get { self[9] }
        set { self[9] = newValue }
    }

    /// RD: whether the client wants the server to query other servers.
    public var wantsRecursion: Bool {
        get { self[8] }
        set { self[8] = newValue }
    }

    /// RA: whether the server queries other servers for clients.
    public var offersRecursion: Bool {
        get { self[7] }
        set { self[7] = newValue }
    }

    /// AD: whether the server validated the signatures. In a query: whether the client wants to know (RFC 6840 §5.7).
    public var isAuthenticated: Bool {
        get { self[5] }
        set { self[5] = newValue }
    }

    /// The kind of query; 0 is a standard query.
    public var opcode: UInt8 { UInt8(bits >> 11 & 15) }

    /// The lower four bits of the response code.
    public var shortResponseCode: UInt8 {
        get { UInt8(bits & 15) }
        set { bits = bits & ~15 | UInt16(newValue & 15) }
    }

    private subscript(bit: Int) -> Bool {
        get { bits >> bit & 1 == 1 }
        set { bits = newValue ? bits | 1 << bit : bits & ~(1 << bit) }
    }
}
