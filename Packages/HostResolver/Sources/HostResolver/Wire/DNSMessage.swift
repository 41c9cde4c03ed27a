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
    public static let largestSize = 65_535

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
    ///     invalid. A record that extends beyond the message is always an error. Multicast DNS skips such records,
    ///     because a packet may contain many unrelated records that one faulty record should not invalidate.
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer``, with the byte offset in ``ResolverError/detail``.
    public init(wire bytes: [UInt8], skipsUnreadable: Bool = false) throws(ResolverError) {
        var decoder = DNSDecoder(bytes)
        decoder.skipsUnreadable = skipsUnreadable
        self = try decoder.message()
    }

    /// Decodes the header and the questions only, which is enough for a truncated answer.
    static func head(of bytes: [UInt8]) throws(ResolverError) -> DNSMessage {
        var decoder = DNSDecoder(bytes)
        return try decoder.head().message
    }

    /// Returns the wire form, with names compressed where RFC 1035 §4.1.4 and RFC 3597 §4 allow it.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer`` if the message is larger than ``largestSize``, or
    ///   a text in it longer than 255 bytes.
    public func wireForm() throws(ResolverError) -> [UInt8] {
        var encoder = DNSEncoder()
        return try encoder.encode(self)
    }

    /// Returns the wire form for multicast DNS, in which the names in SRV and NSEC records are compressed too (RFC 6762
    /// §18.14).
    ///
    /// - Throws: The errors of ``wireForm()``.
    public func multicastWireForm() throws(ResolverError) -> [UInt8] {
        var encoder = DNSEncoder()
        encoder.compressesEverything = true
        return try encoder.encode(self)
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
