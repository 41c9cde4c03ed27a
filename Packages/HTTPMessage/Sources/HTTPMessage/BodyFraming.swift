/// How the end of a message's body is determined (RFC 9112 §6.3).
///
/// ```swift
/// switch try BodyFraming.of(response, to: .get) {
/// case .none: break
/// case .length(let count): print("\(count) bytes follow")
/// case .chunked: print("chunks follow")
/// case .untilClose, .tunnel: print("all further bytes")
/// }
/// ```
public enum BodyFraming: Hashable, Sendable {
    /// The message has no body, regardless of its fields.
    case none
    /// The body has this many bytes.
    case length(Int64)
    /// The body consists of chunks, followed by a trailer section (RFC 9112 §7.1).
    case chunked
    /// The body ends when the peer closes the connection, which therefore cannot be reused. Responses only.
    case untilClose
    /// The connection no longer carries HTTP: after a successful `CONNECT`, or a 101.
    case tunnel

    /// Returns the framing of a request's body.
    ///
    /// Throws if the framing fields are invalid or contradict each other: `invalidContentLength`, `repeatedContentLength`,
    /// `conflictingFraming`, `invalidTransferEncoding`, `unknownTransferCoding`, `transferEncodingInHTTP10`. The end of such a
    /// message is unknown, so its connection must be closed.
    public static func of(
        _ request: HTTPRequest, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> BodyFraming {
        let storage = request.fields.storage
        let fields = FramingFields(storage, request.version, leniency)
        let length = try fields.contentLength(in: storage)
        if let framing = try fields.transferEncoding(in: storage, hasLength: length != nil) {
            // §6.3 rule 4: a request whose final coding is not chunked has no known end.
            guard framing == .chunked else { throw HTTPMessageError(.invalidTransferEncoding) }
            return .chunked
        }
        return length.map { .length($0) } ?? .none
    }

    /// Returns the framing of a response's body, which depends on the method of the request.
    ///
    /// Throws the errors of ``of(_:leniency:)``, even for a response without a body: if the fields are contradictory, the
    /// peer's next message cannot be trusted either.
    public static func of(
        _ response: HTTPResponse, to method: HTTPMethod, leniency: HTTPLeniency = .strict
    ) throws(HTTPMessageError) -> BodyFraming {
        let storage = response.fields.storage
        return try FramingFields(storage, response.version, leniency).framing(
            of: response.startLine, to: method, in: storage)
    }
}

extension HTTPFields {
    /// The transfer codings of the body in the order in which they were applied, in lower case, including `chunked`.
    ///
    /// This package decodes `chunked` only: a body with further codings is still encoded after ``BodyDecoder`` has removed
    /// its framing. Throws ``HTTPMessageError/Code/invalidTransferEncoding`` if the value is not a list of codings.
    public var transferCodings: [String] {
        get throws(HTTPMessageError) { try FramingFields(storage, .http11, []).codings(in: storage) }
    }
}

extension HTTPResponse {
    /// The value of `Transfer-Encoding` if it names a coding besides `chunked`; nil otherwise, and without a framed body.
    ///
    /// A client that has offered no such coding in `TE` refuses the response (RFC 9112 §7.4): the coded bytes would be taken for the
    /// body.
    ///
    /// - Parameter framing: The framing of the body.
    @_spi(Packages) public func furtherTransferCoding(_ framing: BodyFraming) -> String? {
        guard framing == .chunked || framing == .untilClose, let coding = fields[.transferEncoding] else { return nil }
        let names = coding.utf8.map(HTTPGrammar.lowercased).split { ", \t".utf8.contains($0) }
        let isUsual = names.allSatisfy { $0.elementsEqual("chunked".utf8) || $0.elementsEqual("identity".utf8) }
        return isUsual ? nil : coding
    }
}

/// The fields that determine the end of a message and of its connection, found in one pass over the head.
///
/// `Content-Length` and `Transfer-Encoding` delimit the body. They are parsed strictly: a proxy on the path that interprets them
/// differently would see another end of the message.
struct FramingFields {
    /// The fields with one of the names.
    private struct Occurrences {
        /// The index of the first one plus 1, and a bit for further ones; 0 for none.
        private var packed: UInt32 = 0

        private static var repeated: UInt32 { 1 << 31 }

        mutating func add(_ index: Int) {
            packed = packed == 0 ? UInt32(truncatingIfNeeded: index &+ 1) : packed | Self.repeated
        }

        var isRepeated: Bool { packed >= Self.repeated }

        /// The index of the only one.
        var single: Int? { packed == 0 || isRepeated ? nil : Int(packed) &- 1 }

        var first: Int? { packed == 0 ? nil : Int(packed & ~Self.repeated) &- 1 }
    }

    private let version: HTTPVersion
    private let leniency: HTTPLeniency
    private var lengths = Occurrences()
    private var transferEncodings = Occurrences()
    private var connections = Occurrences()
    private var proxyConnections = Occurrences()

    /// The lengths of the names as bits. The length alone tells these names apart from nearly all others.
    private static var nameLengths: UInt64 { 1 << 10 | 1 << 14 | 1 << 16 | 1 << 17 }

    @inline(__always)
    init(_ storage: HeadStorage, _ version: HTTPVersion, _ leniency: HTTPLeniency) {
        self.version = version
        self.leniency = leniency
        let slots = storage.slots
        let count = storage.layout.fieldCount
        var index = 0
        while index < count {
            let slot = slots[index]
            let length = slot.nameEnd &- slot.nameStart
            if Self.nameLengths &>> UInt64(length) & 1 != 0 {
                let name = UnsafeRawPointer(storage.bytes) + Int(slot.nameStart)
                switch length {
                case 10 where HTTPGrammar.isEqual(name, "connection"): connections.add(index)
                case 14 where HTTPGrammar.isEqual(name, "content-length"): lengths.add(index)
                case 16 where HTTPGrammar.isEqual(name, "proxy-connection"): proxyConnections.add(index)
                case 17 where HTTPGrammar.isEqual(name, "transfer-encoding"): transferEncodings.add(index)
                default: break
                }
            }
            index &+= 1
        }
    }

    private func error(_ code: HTTPMessageError.Code, at index: Int, in storage: HeadStorage) -> HTTPMessageError {
        HTTPMessageError(code, offset: Int(storage.slots[index].valueStart))
    }

    /// The framing of a response to a request with this method. Throws the errors of ``BodyFraming/of(_:to:leniency:)``.
    @inline(__always)
    func framing(
        of response: StartLine, to method: HTTPMethod, in storage: HeadStorage
    ) throws(HTTPMessageError) -> BodyFraming {
        if method == .get, let status = response.status, status >= 200, status < 300, status != 204,
            let index = lengths.single, transferEncodings.first == nil,
            let length = Self.number(storage.slice(storage.slots[index].value))
        {
            return .length(length)
        }
        return try otherFraming(of: response, to: method, in: storage)
    }

    @inline(never)
    private func otherFraming(
        of response: StartLine, to method: HTTPMethod, in storage: HeadStorage
    ) throws(HTTPMessageError) -> BodyFraming {
        if version == .http09, response.line.range.isEmpty { return .untilClose }
        let length = try contentLength(in: storage)
        let coding = try transferEncoding(in: storage, hasLength: length != nil)
        switch response.status ?? 200 {
        case 101: return .tunnel
        case 100...199, 204, 304: return .none
        case 200...299 where method == .connect: return .tunnel
        default: break
        }
        if method == .head { return .none }
        return coding ?? length.map { .length($0) } ?? .untilClose
    }

    /// Whether the connection persists after a message with these fields.
    ///
    /// `close` takes precedence over `keep-alive`. `Proxy-Connection: close` is obeyed if `Connection` has neither option,
    /// because closing is always safe. A message with ambiguous framing is the last one (RFC 9112 §6.1, §6.3).
    @inline(__always)
    func isPersistent(in storage: HeadStorage) -> Bool {
        if transferEncodings.first != nil, version < .http11 || lengths.first != nil { return false }
        let (closes, keepsAlive) = options(of: connections, "connection", in: storage)
        if closes { return false }
        if keepsAlive { return true }
        return version >= .http11 && !options(of: proxyConnections, "proxy-connection", in: storage).closes
    }

    private func options(
        of found: Occurrences, _ name: StaticString, in storage: HeadStorage
    ) -> (closes: Bool, keepsAlive: Bool) {
        guard let first = found.first else { return (false, false) }
        let value = storage.slots[first].value
        if !found.isRepeated, value.count == 10,
            HTTPGrammar.isEqual(storage.bytes + value.lowerBound, "keep-alive")
        {
            return (false, true)
        }
        return storage.list(name, contains: "close", "keep-alive")
    }

    /// The value of `Content-Length` (RFC 9110 §8.6), or nil if the field is absent.
    func contentLength(in storage: HeadStorage) throws(HTTPMessageError) -> Int64? {
        guard let index = lengths.first else { return nil }
        if !lengths.isRepeated, let length = Self.number(storage.slice(storage.slots[index].value)) { return length }
        return try repeatedContentLength(from: index, in: storage)
    }

    /// The length that several fields, or a list in one field, agree on, digit by digit. Throws if they differ, or unless the leniency allows
    /// repetition.
    private func repeatedContentLength(
        from first: Int, in storage: HeadStorage
    ) throws(HTTPMessageError) -> Int64 {
        var length: Int64?
        // The digits are compared, not the numbers: others may read 030 as an octal number.
        var digits: [UInt8] = []
        var values = 0
        var next: Int? = first
        while let index = next {
            for element in storage.value(index).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let text = Array(HTTPGrammar.trimmed(element))
                guard let number = Self.longNumber(text) else {
                    throw error(.invalidContentLength, at: index, in: storage)
                }
                if values > 0, text != digits { throw error(.repeatedContentLength, at: index, in: storage) }
                (length, digits) = (number, text)
                values += 1
            }
            next = storage.firstIndex(of: "content-length", from: index + 1)
        }
        guard let length else { throw error(.invalidContentLength, at: first, in: storage) }
        guard values == 1 || leniency.contains(.repeatedContentLength) else {
            throw error(.repeatedContentLength, at: first, in: storage)
        }
        return length
    }

    /// The framing that `Transfer-Encoding` specifies, `chunked` or `untilClose`, or nil if the field is absent.
    func transferEncoding(in storage: HeadStorage, hasLength: Bool) throws(HTTPMessageError) -> BodyFraming? {
        guard let index = transferEncodings.first else { return nil }
        if version < .http11, !leniency.contains(.transferEncodingInHTTP10) {
            throw error(.transferEncodingInHTTP10, at: index, in: storage)
        }
        if hasLength, !leniency.contains(.transferEncodingOverridesLength) {
            throw error(.conflictingFraming, at: index, in: storage)
        }
        if !transferEncodings.isRepeated,
            HTTPGrammar.equalsIgnoringCase(storage.slice(storage.slots[index].value), "chunked")
        {
            return .chunked
        }
        let codings = try codings(in: storage)
        if !leniency.contains(.unknownTransferCodings), !codings.allSatisfy(Self.registered.contains) {
            throw error(.unknownTransferCoding, at: index, in: storage)
        }
        if leniency.contains(.transferEncodingOverridesLength), codings.allSatisfy({ $0 == "identity" }) { return nil }
        return codings.last == "chunked" ? .chunked : .untilClose
    }

    /// The codings of RFC 9112 §7, and `identity` of RFC 2616, which has no effect: a client takes a field with nothing else for none.
    private static let registered: Set = ["chunked", "compress", "deflate", "gzip", "x-compress", "x-gzip", "identity"]

    /// Parses `1#transfer-coding` (RFC 9112 §6.1).
    ///
    /// Rejects parameters of `chunked`, `chunked` in any position but the last, and, unless the leniency allows them as in other lists
    /// (RFC 9110 §5.6.1), empty list elements, because recipients disagree about all three.
    func codings(in storage: HeadStorage) throws(HTTPMessageError) -> [String] {
        var codings: [String] = []
        var next = transferEncodings.first
        while let index = next {
            for element in storage.value(index).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let parts = element.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                let name = HTTPGrammar.trimmed(parts[0])
                if name.isEmpty, parts.count == 1, leniency.contains(.emptyTransferCodings) { continue }
                let isChunked = HTTPGrammar.equalsIgnoringCase(name, "chunked")
                guard HTTPGrammar.isToken(name), parts.dropFirst().allSatisfy(Self.isParameter),
                    !(isChunked && parts.count > 1), codings.last != "chunked"
                else { throw error(.invalidTransferEncoding, at: index, in: storage) }
                codings.append(isChunked ? "chunked" : HTTPGrammar.text(name).lowercased())
            }
            next = storage.firstIndex(of: "transfer-encoding", from: index + 1)
        }
        if codings.isEmpty, let first = transferEncodings.first {
            throw error(.invalidTransferEncoding, at: first, in: storage)
        }
        return codings
    }

    /// Whether `bytes` is a transfer-parameter (RFC 9112 §7). Quoted strings are rejected: no registered coding uses them.
    private static func isParameter(_ bytes: ArraySlice<UInt8>) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { HTTPGrammar.isToken(HTTPGrammar.trimmed($0)) }
    }

    /// Parses `1*DIGIT`, without sign or whitespace. Nil if the number overflows.
    @inline(__always)
    private static func number(_ bytes: UnsafeBufferPointer<UInt8>) -> Int64? {
        // 18 digits do not overflow.
        if bytes.isEmpty || bytes.count > 18 { return longNumber(bytes) }
        var number: Int64 = 0
        for digit in bytes {
            guard HTTPGrammar.isDigit(digit) else { return nil }
            number = number &* 10 &+ Int64(digit &- UInt8(ascii: "0"))
        }
        return number
    }

    private static func longNumber(_ bytes: some RandomAccessCollection<UInt8>) -> Int64? {
        if bytes.isEmpty { return nil }
        var number: Int64 = 0
        for digit in bytes {
            guard HTTPGrammar.isDigit(digit) else { return nil }
            let (times, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = times.addingReportingOverflow(Int64(digit &- UInt8(ascii: "0")))
            if overflow || carry { return nil }
            number = sum
        }
        return number
    }
}
