/// A DNS message, either a query or an answer (RFC 1035 §4).
///
/// ```swift
/// let query = DNSMessage(query: DNSQuestion(DNSName("example.org")!, .srv), id: 4711, payloadSize: 1232)
/// let answer = try DNSMessage(wire: bytes)
/// ```
///
/// Decoding is safe for untrusted bytes: compressed names are limited in length and in pointers, each record's data
/// must match its length, and no byte beyond the end is read.
public struct DNSMessage: Hashable, Sendable {
    /// The largest message, in bytes (RFC 1035 §4.2.2).
    public static let maximumSize = 65_535

    /// The ID and the flags.
    public var header: DNSHeader
    /// The question section; in practice it has one question.
    public var questions: [DNSQuestion]
    /// The answer section.
    public var answers: [DNSRecord]
    /// The authority section: a referral's NS records, or the SOA record of a negative answer.
    public var authorities: [DNSRecord]
    /// The additional section, including the pseudo-record of EDNS.
    public var additionals: [DNSRecord]

    /// Creates a message.
    public init(
        header: DNSHeader, questions: [DNSQuestion] = [], answers: [DNSRecord] = [], authorities: [DNSRecord] = [],
        additionals: [DNSRecord] = []
    ) {
        self.header = header
        self.questions = questions
        self.answers = answers
        self.authorities = authorities
        self.additionals = additionals
    }

    /// Creates a query for a recursive server.
    ///
    /// With a payload size, the query has an EDNS record (RFC 6891 §6.1.2) that limits the server's UDP answer to that
    /// many bytes.
    public init(query question: DNSQuestion, id: UInt16, payloadSize: UInt16? = nil) {
        self.init(header: DNSHeader(id: id), questions: [question])
        header.wantsRecursion = true
        if let payloadSize {
            additionals = [DNSRecord(.root, type: .opt, recordClass: payloadSize, timeToLive: 0, .other(.opt, []))]
        }
    }

    /// Decodes a message. Bytes after its end are ignored.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - skipsUnreadable: Whether a record with invalid data is skipped; otherwise it makes the whole message
    ///     invalid, as does a second pseudo-record of EDNS. A record that extends beyond the message is always an error. Multicast
    ///     DNS skips such records, because a packet may contain many unrelated records that one faulty record should not invalidate.
    /// - Throws: ``DNSWireError/Code-swift.enum/malformed``, with the byte offset in ``DNSWireError/detail``.
    public init(wire bytes: [UInt8], skipsUnreadable: Bool = false) throws(DNSWireError) {
        var decoder = DNSDecoder(bytes)
        decoder.skipsUnreadable = skipsUnreadable
        self = try decoder.message()
    }

    /// Decodes a message, and skips records with invalid data. Also returns the types of those in the answer section.
    package static func readable(
        _ bytes: [UInt8]
    ) throws(DNSWireError) -> (message: DNSMessage, skipped: [DNSRecordType]) {
        var decoder = DNSDecoder(bytes)
        decoder.skipsUnreadable = true
        return try decoder.messageAndSkipped()
    }

    /// Decodes the header and the questions only, which is enough for a truncated answer.
    package static func head(of bytes: [UInt8]) throws(DNSWireError) -> DNSMessage {
        var decoder = DNSDecoder(bytes)
        return try decoder.head().message
    }

    /// Returns the wire form, with names compressed where RFC 1035 §4.1.4 and RFC 3597 §4 allow it.
    ///
    /// - Throws: ``DNSWireError/Code-swift.enum/tooLarge`` if the message is larger than ``maximumSize``, or
    ///   a text in it longer than 255 bytes.
    public func wireForm() throws(DNSWireError) -> [UInt8] {
        var encoder = DNSEncoder()
        return try encoder.encode(self)
    }

    /// Returns the wire form for multicast DNS, in which the names in SRV and NSEC records are compressed too (RFC 6762
    /// §18.14).
    ///
    /// - Throws: The errors of ``wireForm()``.
    @_spi(Packages) public func multicastWireForm() throws(DNSWireError) -> [UInt8] {
        var encoder = DNSEncoder()
        encoder.compressesEverything = true
        return try encoder.encode(self)
    }

    /// Returns the wire form for multicast DNS with as many of the records as fit into `size` bytes, in their order: answers,
    /// authorities, additional records. Encodes each record once, whatever the number of them.
    ///
    /// - Parameters:
    ///   - size: The most bytes.
    ///   - least: The number of records that are encoded even if they do not fit. The questions always are.
    /// - Returns: The bytes, and the number of records in them.
    /// - Throws: The errors of ``wireForm()``.
    @_spi(Packages) public func multicastWireForm(
        fitting size: Int, least: Int = 0
    ) throws(DNSWireError) -> (bytes: [UInt8], recordCount: Int) {
        var encoder = DNSEncoder()
        encoder.compressesEverything = true
        return try encoder.encode(self, fitting: size, least: least)
    }

    /// The pseudo-record of EDNS; nil if there is none.
    public var extensionRecord: DNSRecord? {
        additionals.first { $0.type == .opt }
    }

    /// The response code, including the bits that EDNS adds (RFC 6891 §6.1.3).
    public var responseCode: DNSResponseCode {
        let upper = extensionRecord.map { UInt16($0.timeToLive >> 24) << 4 } ?? 0
        return DNSResponseCode(rawValue: upper | UInt16(header.shortResponseCode))
    }
}

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

/// The response code of an answer (RFC 1035 §4.1.1, RFC 6891 §6.1.3). Open: all numbers are valid.
public struct DNSResponseCode: RawRepresentable, Hashable, Sendable {
    /// The number, including the eight upper bits that EDNS adds.
    public let rawValue: UInt16

    /// Creates a code from its number.
    public init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The query succeeded, perhaps without records.
    public static let noError = DNSResponseCode(rawValue: 0)
    /// FORMERR: the server could not parse the query.
    public static let formatError = DNSResponseCode(rawValue: 1)
    /// SERVFAIL: the server could not resolve the name.
    public static let serverFailure = DNSResponseCode(rawValue: 2)
    /// NXDOMAIN: the name does not exist.
    public static let nameError = DNSResponseCode(rawValue: 3)
    /// NOTIMP: the server does not support this kind of query.
    public static let notImplemented = DNSResponseCode(rawValue: 4)
    /// REFUSED: the server's policy forbids the query.
    public static let refused = DNSResponseCode(rawValue: 5)
    /// BADVERS: the server does not support this version of EDNS.
    public static let badVersion = DNSResponseCode(rawValue: 16)
}

/// A question: the records of one name, of one type and class.
public struct DNSQuestion: Hashable, Sendable {
    /// The name whose records are requested.
    public var name: DNSName
    /// The type of the requested records.
    public var type: DNSRecordType
    /// The class; 1 is the Internet.
    public var recordClass: UInt16

    /// Creates a question; by default for the Internet class.
    public init(_ name: DNSName, _ type: DNSRecordType, recordClass: UInt16 = 1) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
    }
}
