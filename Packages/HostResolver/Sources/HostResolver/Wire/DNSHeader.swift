/// The flags and the number of a message (RFC 1035 §4.1.1), as far as they are no counts.
public struct DNSHeader: Hashable, Sendable {
    /// What matches an answer to its query.
    public var id: UInt16
    /// The 16 bits behind the number, as they are on the wire.
    public var bits: UInt16

    /// Makes a header.
    public init(id: UInt16, bits: UInt16 = 0) {
        self.id = id
        self.bits = bits
    }

    /// QR: an answer, not a query.
    public var isResponse: Bool {
        get { self[15] }
        set { self[15] = newValue }
    }

    /// AA: the server owns the data.
    public var isAuthoritative: Bool {
        get { self[10] }
        set { self[10] = newValue }
    }

    /// TC: cut; the whole comes over TCP.
    public var isTruncated: Bool {
        get { self[9] }
        set { self[9] = newValue }
    }

    /// RD: the server shall ask others for us.
    public var wantsRecursion: Bool {
        get { self[8] }
        set { self[8] = newValue }
    }

    /// RA: the server asks others.
    public var offersRecursion: Bool {
        get { self[7] }
        set { self[7] = newValue }
    }

    /// AD: the server checked the signatures, or (in a query) is asked to say whether it did (RFC 6840 §5.7).
    public var isAuthenticated: Bool {
        get { self[5] }
        set { self[5] = newValue }
    }

    /// The kind of query; 0 is the usual one.
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
