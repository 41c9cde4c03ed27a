/// What a server says about itself in a challenge, and what the client says back under the protection of its response:
/// a list of numbered values, MS-NLMP section 2.2.2.1.
public struct NTLMTargetInfo: Hashable, Sendable {
    /// The number of a value in the list.
    public struct Identifier: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt16

        /// Any number, also one that has no name here.
        public init(rawValue: UInt16) {
            self.rawValue = rawValue
        }

        /// The server's NetBIOS name.
        public static let computerName = Identifier(rawValue: 1)
        /// The domain's NetBIOS name.
        public static let domainName = Identifier(rawValue: 2)
        /// The server's DNS name.
        public static let dnsComputerName = Identifier(rawValue: 3)
        /// The domain's DNS name.
        public static let dnsDomainName = Identifier(rawValue: 4)
        /// The forest's DNS name.
        public static let dnsTreeName = Identifier(rawValue: 5)
        /// Bits, see ``NTLMTargetInfo/hasMIC``.
        public static let flags = Identifier(rawValue: 6)
        /// The server's clock.
        public static let timestamp = Identifier(rawValue: 7)
        /// About the client's machine.
        public static let singleHost = Identifier(rawValue: 8)
        /// The service that the client means: `HTTP/www.example.org`.
        public static let targetName = Identifier(rawValue: 9)
        /// The MD5 of the channel binding, or zeros.
        public static let channelBindings = Identifier(rawValue: 10)
    }

    /// The values in order, each number once.
    public private(set) var values: [(identifier: Identifier, bytes: [UInt8])] = []

    /// An empty list.
    public init() {}

    /// Reads a list up to its end mark; bytes behind the mark are dropped.
    ///
    /// - Throws: ``HTTPAuthError`` if the list has no end mark, a value reaches beyond the bytes, a number comes twice, or
    ///   a value of fixed size has another one.
    public init(_ bytes: [UInt8]) throws(HTTPAuthError) {
        var place = 0
        while true {
            guard place + 4 <= bytes.count else { throw .ntlmTargetInfo("it has no terminator") }
            let number = UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8
            let length = Int(bytes[place + 2]) | Int(bytes[place + 3]) << 8
            place += 4
            guard place + length <= bytes.count else { throw .ntlmTargetInfo("value \(number) is truncated") }
            if number == 0 {
                guard length == 0 else { throw .ntlmTargetInfo("its terminator has a value") }
                return
            }
            let identifier = Identifier(rawValue: number)
            if let size = NTLMTargetInfo.sizes[identifier], length != size {
                throw .ntlmTargetInfo("value \(number) has \(length) bytes, not \(size)")
            }
            // Two readers that pick different ones of two is how a signed list comes to mean two things.
            guard self[identifier] == nil else { throw .ntlmTargetInfo("duplicate value \(number)") }
            values.append((identifier, Array(bytes[place..<place + length])))
            place += length
        }
    }

    private static let sizes: [Identifier: Int] = [.flags: 4, .timestamp: 8, .channelBindings: 16]

    /// The value of that number. Setting nil removes it; setting bytes replaces it where it stands, or adds it at the end.
    public subscript(identifier: Identifier) -> [UInt8]? {
        get { values.first { $0.identifier == identifier }?.bytes }
        set {
            let place = values.firstIndex { $0.identifier == identifier }
            switch (place, newValue) {
            case (let place?, let bytes?): values[place].bytes = bytes
            case (let place?, nil): values.remove(at: place)
            case (nil, let bytes?): values.append((identifier, bytes))
            case (nil, nil): break
            }
        }
    }

    /// The text of a value that is one.
    public func text(_ identifier: Identifier) -> String? { self[identifier]?.utf16LittleEndianText }

    /// The server's clock, in units of 100 ns since 1601.
    public var timestamp: UInt64? {
        self[.timestamp].map { bytes in bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    }

    /// Whether the client says that its message carries an integrity code over all three messages.
    public var hasMIC: Bool { flags & NTLMTargetInfo.micFlag != 0 }

    static let micFlag: UInt32 = 2

    var flags: UInt32 {
        get { self[.flags].map { bytes in bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) } } ?? 0 }
        set {
            var bytes: [UInt8] = []
            bytes.append(littleEndian: newValue)
            self[.flags] = bytes
        }
    }

    /// The list as sent, with its end mark.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for value in values {
            bytes.append(littleEndian: value.identifier.rawValue)
            bytes.append(littleEndian: UInt16(value.bytes.count))
            bytes += value.bytes
        }
        return bytes + [0, 0, 0, 0]
    }

    /// Equal if numbers, values and order are.
    public static func == (left: NTLMTargetInfo, right: NTLMTargetInfo) -> Bool {
        left.values.elementsEqual(right.values) { $0 == $1 }
    }

    /// Hashes the numbers and values in order.
    public func hash(into hasher: inout Hasher) {
        for value in values {
            hasher.combine(value.identifier)
            hasher.combine(value.bytes)
        }
    }
}
