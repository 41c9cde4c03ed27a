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
        let fields = FramingFields(request.fields, request.version, leniency)
        let length = try fields.contentLength()
        if let framing = try fields.transferEncoding(hasLength: length != nil) {
            // §6.3 rule 4: a request whose final coding is not chunked has no known end.
            guard framing == .chunked else { throw fields.error(.invalidTransferEncoding) }
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
        try FramingFields(response.fields, response.version, leniency).framing(of: response, to: method)
    }
}

extension HTTPFields {
    /// The transfer codings of the body in the order in which they were applied, in lower case, including `chunked`.
    ///
    /// This package decodes `chunked` only: a body with further codings is still encoded after ``BodyDecoder`` has removed
    /// its framing. Throws ``HTTPMessageError/Code/invalidTransferEncoding`` if the value is not a list of codings.
    public var transferCodings: [String] {
        get throws(HTTPMessageError) { try FramingFields(self, .http11, []).codings() }
    }
}

/// The fields that determine the end of a message and of its connection, found in one pass over the head.
///
/// `Content-Length` and `Transfer-Encoding` delimit the body. They are parsed strictly: a proxy on the path that interprets them
/// differently would see another end of the message.
struct FramingFields {
    /// The fields with one of the names.
    private struct Occurrences {
        /// The index of the first one; -1 for none.
        private var start = -1
        private(set) var isRepeated = false

        @inline(__always)
        mutating func add(_ index: Int) {
            if start < 0 { start = index } else { isRepeated = true }
        }

        @inline(__always)
        var first: Int? { start < 0 ? nil : start }
    }

    private let storage: HeadStorage
    private let version: HTTPVersion
    private let leniency: HTTPLeniency
    private var lengths = Occurrences()
    private var transferEncodings = Occurrences()
    private var connections = Occurrences()
    private var proxyConnections = Occurrences()

    @inline(__always)
    init(_ fields: HTTPFields, _ version: HTTPVersion, _ leniency: HTTPLeniency) {
        storage = fields.storage
        self.version = version
        self.leniency = leniency
        let slots = storage.slots
        for index in 0..<storage.layout.fieldCount {
            let name = slots[index].name
            // The length alone tells these names apart from nearly all others.
            switch name.count {
            case 10 where HTTPGrammar.equalsIgnoringCase(storage.slice(name), "connection"): connections.add(index)
            case 14 where HTTPGrammar.equalsIgnoringCase(storage.slice(name), "content-length"): lengths.add(index)
            case 16 where HTTPGrammar.equalsIgnoringCase(storage.slice(name), "proxy-connection"):
                proxyConnections.add(index)
            case 17 where HTTPGrammar.equalsIgnoringCase(storage.slice(name), "transfer-encoding"):
                transferEncodings.add(index)
            default: break
            }
        }
    }

    func error(_ code: HTTPMessageError.Code, at index: Int? = nil) -> HTTPMessageError {
        HTTPMessageError(code, offset: index.map { Int(storage.slots[$0].valueStart) })
    }

    /// The framing of a response to a request with this method. Throws the errors of ``BodyFraming/of(_:to:leniency:)``.
    @inline(__always)
    func framing(of response: HTTPResponse, to method: HTTPMethod) throws(HTTPMessageError) -> BodyFraming {
        if version == .http09, response.statusLine.isEmpty { return .untilClose }
        let length = try contentLength()
        let coding = try transferEncoding(hasLength: length != nil)
        // Comparing equal methods costs less than comparing different ones, and nearly all are GET.
        let isGet = method == .get
        switch response.status.code {
        case 101: return .tunnel
        case 100...199, 204, 304: return .none
        case 200...299 where !isGet && method == .connect: return .tunnel
        default: break
        }
        if !isGet, method == .head { return .none }
        return coding ?? length.map { .length($0) } ?? .untilClose
    }

    /// Whether the connection persists after a message with these fields.
    ///
    /// `close` takes precedence over `keep-alive`. `Proxy-Connection: close` is obeyed if `Connection` has neither option,
    /// because closing is always safe. A message with ambiguous framing is the last one (RFC 9112 §6.1, §6.3).
    var isPersistent: Bool {
        if transferEncodings.first != nil, version < .http11 || lengths.first != nil { return false }
        let (closes, keepsAlive) = options(of: connections, "connection")
        if closes { return false }
        if keepsAlive { return true }
        return version >= .http11 && !options(of: proxyConnections, "proxy-connection").closes
    }

    @inline(__always)
    private func options(of found: Occurrences, _ name: StaticString) -> (closes: Bool, keepsAlive: Bool) {
        var options = (false, false)
        var next = found.first
        while let index = next {
            storage.search(index, for: "close", "keep-alive", &options)
            next = found.isRepeated ? storage.firstIndex(of: name, from: index + 1) : nil
        }
        return options
    }

    /// The value of `Content-Length` (RFC 9110 §8.6), or nil if the field is absent.
    @inline(__always)
    func contentLength() throws(HTTPMessageError) -> Int64? {
        guard let index = lengths.first else { return nil }
        if !lengths.isRepeated, let length = Self.number(storage.slice(storage.slots[index].value)) { return length }
        return try repeatedContentLength(from: index)
    }

    /// The length that several fields, or a list in one field, agree on. Throws if they differ, or unless the leniency allows
    /// repetition.
    private func repeatedContentLength(from first: Int) throws(HTTPMessageError) -> Int64 {
        var length: Int64?
        var values = 0
        var next: Int? = first
        while let index = next {
            for element in storage.value(index).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                guard let number = Self.number(HTTPGrammar.trimmed(element)) else {
                    throw error(.invalidContentLength, at: index)
                }
                if length ?? number != number { throw error(.repeatedContentLength, at: index) }
                length = number
                values += 1
            }
            next = storage.firstIndex(of: "content-length", from: index + 1)
        }
        guard let length, values == 1 || leniency.contains(.repeatedContentLength) else {
            throw error(.repeatedContentLength, at: first)
        }
        return length
    }

    /// The framing that `Transfer-Encoding` specifies, `chunked` or `untilClose`, or nil if the field is absent.
    @inline(__always)
    func transferEncoding(hasLength: Bool) throws(HTTPMessageError) -> BodyFraming? {
        guard let index = transferEncodings.first else { return nil }
        if version < .http11, !leniency.contains(.transferEncodingInHTTP10) {
            throw error(.transferEncodingInHTTP10, at: index)
        }
        if hasLength, !leniency.contains(.transferEncodingOverridesLength) {
            throw error(.conflictingFraming, at: index)
        }
        if !transferEncodings.isRepeated,
            HTTPGrammar.equalsIgnoringCase(storage.slice(storage.slots[index].value), "chunked")
        {
            return .chunked
        }
        let codings = try codings()
        if !leniency.contains(.unknownTransferCodings), !codings.allSatisfy(Self.registered.contains) {
            throw error(.unknownTransferCoding, at: index)
        }
        return codings.last == "chunked" ? .chunked : .untilClose
    }

    /// The codings of RFC 9112 §7, and `identity` of RFC 2616, which has no effect.
    private static let registered: Set = ["chunked", "compress", "deflate", "gzip", "x-compress", "x-gzip", "identity"]

    /// Parses `1#transfer-coding` (RFC 9112 §6.1).
    ///
    /// Rejects empty list elements, parameters of `chunked`, and `chunked` in any position but the last, because recipients
    /// disagree about all three.
    func codings() throws(HTTPMessageError) -> [String] {
        var codings: [String] = []
        var next = transferEncodings.first
        while let index = next {
            for element in storage.value(index).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                let parts = element.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                let name = HTTPGrammar.trimmed(parts[0])
                let isChunked = HTTPGrammar.equalsIgnoringCase(name, "chunked")
                guard HTTPGrammar.isToken(name), parts.dropFirst().allSatisfy(Self.isParameter),
                    !(isChunked && parts.count > 1), codings.last != "chunked"
                else { throw error(.invalidTransferEncoding, at: index) }
                codings.append(isChunked ? "chunked" : HTTPGrammar.text(name).lowercased())
            }
            next = storage.firstIndex(of: "transfer-encoding", from: index + 1)
        }
        return codings
    }

    /// Whether `bytes` is a transfer-parameter (RFC 9112 §7). Quoted strings are rejected: no registered coding uses them.
    private static func isParameter(_ bytes: ArraySlice<UInt8>) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { HTTPGrammar.isToken(HTTPGrammar.trimmed($0)) }
    }

    /// Parses `1*DIGIT`, without sign or whitespace. Nil if the number overflows.
    private static func number(_ bytes: some RandomAccessCollection<UInt8>) -> Int64? {
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
