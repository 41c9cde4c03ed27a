/// A query or an answer (RFC 1035 §4).
///
/// ```swift
/// let query = DNSMessage(query: DNSQuestion(DNSName("example.org")!, .srv), id: 4711, payloadSize: 1232)
/// let answer = try DNSMessage(wire: bytes)
/// ```
///
/// Reading is safe with any bytes: compressed names are bounded in length and in jumps, each record must end where it
/// says, and nothing is read beyond the end.
public struct DNSMessage: Hashable, Sendable {
    /// Largest message (RFC 1035 §4.2.2).
    public static let largestSize = 65_535

    /// Number and flags.
    public var header: DNSHeader
    /// What is asked; one in practice.
    public var questions: [DNSQuestion]
    /// What is answered.
    public var answers: [DNSRecord]
    /// Who knows, or why there is nothing.
    public var authorities: [DNSRecord]
    /// What else may help, with the pseudo-record of EDNS.
    public var additionals: [DNSRecord]

    /// Makes a message.
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

    /// Makes a query for a server that asks others.
    ///
    /// With a payload size it has an EDNS record (RFC 6891 §6.1.2) that tells the server how much it may send.
    public init(query question: DNSQuestion, id: UInt16, payloadSize: UInt16? = nil) {
        self.init(header: DNSHeader(id: id), questions: [question])
        header.wantsRecursion = true
        if let payloadSize {
            additionals = [DNSRecord(.root, type: .opt, recordClass: payloadSize, timeToLive: 0, .other(.opt, []))]
        }
    }

    /// Reads a message. Bytes behind its end are ignored.
    ///
    /// - Parameters:
    ///   - bytes: the message as it came.
    ///   - skipsUnreadable: whether a record whose data make no sense is left out. Otherwise it spoils the message. It must
    ///     lie within the message by its length either way. Multicast DNS reads so: what many senders put into one packet
    ///     should not be lost by one fault of theirs.
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer``, with the place in ``ResolverError/detail``.
    public init(wire bytes: [UInt8], skipsUnreadable: Bool = false) throws(ResolverError) {
        var decoder = DNSDecoder(bytes)
        decoder.skipsUnreadable = skipsUnreadable
        self = try decoder.message()
    }

    /// Reads number, flags and questions only: all that is needed of an answer that was cut.
    static func head(of bytes: [UInt8]) throws(ResolverError) -> DNSMessage {
        var decoder = DNSDecoder(bytes)
        return try decoder.head().message
    }

    /// The wire form, names compressed where RFC 1035 §4.1.4 and RFC 3597 §4 allow it.
    ///
    /// - Throws: ``ResolverError/Code-swift.struct/malformedAnswer`` if it exceeds ``largestSize``, or a text in it 255 bytes.
    public func wireForm() throws(ResolverError) -> [UInt8] {
        var encoder = DNSEncoder()
        return try encoder.encode(self)
    }

    /// The wire form for multicast DNS, where the names in SRV and NSEC records are compressed too (RFC 6762 §18.14).
    ///
    /// - Throws: as ``wireForm()``.
    public func multicastWireForm() throws(ResolverError) -> [UInt8] {
        var encoder = DNSEncoder()
        encoder.compressesEverything = true
        return try encoder.encode(self)
    }

    /// The pseudo-record of EDNS, if there is one.
    public var extensionRecord: DNSRecord? {
        additionals.first { $0.type == .opt }
    }

    /// The response code, with the bits that EDNS adds (RFC 6891 §6.1.3).
    public var responseCode: DNSResponseCode {
        let upper = extensionRecord.map { UInt16($0.timeToLive >> 24) << 4 } ?? 0
        return DNSResponseCode(rawValue: upper | UInt16(header.shortResponseCode))
    }
}
