/// The target information of NTLM: a list of numbered values (MS-NLMP section 2.2.2.1). The server describes itself in
/// its challenge; the client returns the list, with its own values, in its response.
struct NTLMTargetInfo: Hashable, Sendable {
    /// The number of a value in the list.
    struct Identifier: RawRepresentable, Hashable, Sendable {
        /// The number.
        let rawValue: UInt16

        /// Creates an identifier from any number, including unnamed ones.
        init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The NetBIOS name of the server.
        static let computerName = Identifier(rawValue: 1)
        /// The NetBIOS name of the domain.
        static let domainName = Identifier(rawValue: 2)
        /// The DNS name of the server.
        static let dnsComputerName = Identifier(rawValue: 3)
        /// The DNS name of the domain.
        static let dnsDomainName = Identifier(rawValue: 4)
        /// The DNS name of the forest.
        static let dnsTreeName = Identifier(rawValue: 5)
        /// Flags; see ``NTLMTargetInfo/hasMIC``.
        static let flags = Identifier(rawValue: 6)
        /// The server's clock.
        static let timestamp = Identifier(rawValue: 7)
        /// Data about the client machine.
        static let singleHost = Identifier(rawValue: 8)
        /// The service that the client requests: `HTTP/www.example.org`.
        static let targetName = Identifier(rawValue: 9)
        /// The MD5 of the channel binding, or zeros.
        static let channelBindings = Identifier(rawValue: 10)
    }

    /// The values in order, each identifier once.
    private(set) var values: [(identifier: Identifier, bytes: [UInt8])] = []

    /// Creates an empty list.
    init() {}

    /// Parses a list up to its terminator; later bytes are ignored.
    ///
    /// - Throws: ``HTTPAuthError/Code/malformedToken`` if the terminator is missing, a value is truncated, an
    ///   identifier occurs twice, or a value of fixed size has another size.
    init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        var offset = 0
        while true {
            guard offset + 4 <= bytes.count else { throw .ntlmTargetInfo("it has no terminator") }
            let number = UInt16(bytes[offset]) | UInt16(bytes[offset + 1]) << 8
            let length = Int(bytes[offset + 2]) | Int(bytes[offset + 3]) << 8
            offset += 4
            guard offset + length <= bytes.count else { throw .ntlmTargetInfo("value \(number) is truncated") }
            if number == 0 {
                guard length == 0 else { throw .ntlmTargetInfo("its terminator has a value") }
                return
            }
            let identifier = Identifier(rawValue: number)
            if let size = NTLMTargetInfo.sizes[identifier], length != size {
                throw .ntlmTargetInfo("value \(number) has \(length) bytes, not \(size)")
            }
            // If two readers pick different duplicates, a signed list has two meanings.
            guard self[identifier] == nil else { throw .ntlmTargetInfo("duplicate value \(number)") }
            values.append((identifier, Array(bytes[offset..<offset + length])))
            offset += length
        }
    }

    private static let sizes: [Identifier: Int] = [.flags: 4, .timestamp: 8, .channelBindings: 16]

    /// The value with this identifier. Setting nil removes it. Setting bytes replaces it in place or appends it.
    subscript(identifier: Identifier) -> [UInt8]? {
        get { values.first { $0.identifier == identifier }?.bytes }
        set {
            let index = values.firstIndex { $0.identifier == identifier }
            switch (index, newValue) {
            case (let index?, let bytes?): values[index].bytes = bytes
            case (let index?, nil): values.remove(at: index)
            case (nil, let bytes?): values.append((identifier, bytes))
            case (nil, nil): break
            }
        }
    }

    /// Returns the text of a value; nil if the list does not contain it.
    func text(_ identifier: Identifier) -> String? { self[identifier]?.utf16LittleEndianText }

    /// The server's clock, in units of 100 ns since 1601.
    var timestamp: UInt64? {
        self[.timestamp].map { bytes in bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// Whether the client announces a message integrity code over all three messages.
    var hasMIC: Bool { flags & NTLMTargetInfo.micFlag != 0 }

    static let micFlag: UInt32 = 2

    var flags: UInt32 {
        get { self[.flags].map { bytes in bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } } ?? 0 }
        set {
            var bytes: [UInt8] = []
            bytes.append(littleEndian: newValue)
            self[.flags] = bytes
        }
    }

    /// The encoded list, with its terminator.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            bytes.append(littleEndian: value.identifier.rawValue)
            bytes.append(littleEndian: UInt16(value.bytes.count))
            bytes += value.bytes
        }
        return bytes + [0, 0, 0, 0]
    }

    /// Returns whether the identifiers, values and order are equal.
    static func == (left: NTLMTargetInfo, right: NTLMTargetInfo) -> Bool {
        left.values.elementsEqual(right.values) { $0 == $1 }
    }

    /// Hashes the identifiers and values in order.
    func hash(into hasher: inout Hasher) {
        for value in values {
            hasher.combine(value.identifier)
            hasher.combine(value.bytes)
        }
    }
}
