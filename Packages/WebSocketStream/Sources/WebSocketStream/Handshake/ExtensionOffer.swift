/// An element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): the name of an extension and its parameters.
struct ExtensionOffer: Equatable {
    var name: String
    var parameters: [(name: String, value: String?)]

    static func == (left: ExtensionOffer, right: ExtensionOffer) -> Bool {
        left.name == right.name && left.parameters.count == right.parameters.count
            && zip(left.parameters, right.parameters).allSatisfy { $0 == $1 }
    }

    /// The most elements and parameters that are read.
    private static let maximumCount = 64

    /// Parses the values of the field. Returns nil for values that violate the grammar.
    static func parse(_ values: [String]) -> [ExtensionOffer]? {
        var offers: [ExtensionOffer] = []
        for value in values {
            var scanner = Scanner(Array(value.utf8))
            while true {
                scanner.skipSpace()
                // An empty element of a list is permitted (RFC 9110 §5.6.1).
                if scanner.take(",") { continue }
                if scanner.isAtEnd { break }
                guard let offer = scanner.offer(limit: maximumCount), offers.count < maximumCount else { return nil }
                offers.append(offer)
                scanner.skipSpace()
                if scanner.isAtEnd { break }
                guard scanner.take(",") else { return nil }
            }
        }
        return offers
    }

    private struct Scanner {
        private let bytes: [UInt8]
        private var position = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        var isAtEnd: Bool { position == bytes.count }

        mutating func skipSpace() {
            while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func offer(limit: Int) -> ExtensionOffer? {
            guard let name = token() else { return nil }
            var offer = ExtensionOffer(name: name, parameters: [])
            while true {
                skipSpace()
                guard take(";") else { return offer }
                skipSpace()
                guard let name = token(), offer.parameters.count < limit else { return nil }
                skipSpace()
                var value: String?
                if take("=") {
                    skipSpace()
                    value = take("\"") ? quoted() : token()
                    if value == nil { return nil }
                }
                offer.parameters.append((name.lowercased(), value))
            }
        }

        private mutating func token() -> String? {
            let start = position
            while position < bytes.count, Scanner.isTokenByte(bytes[position]) { position += 1 }
            return position == start ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
        }

        /// A quoted string, whose content must be a token (RFC 6455 §9.1).
        private mutating func quoted() -> String? {
            var content: [UInt8] = []
            while position < bytes.count {
                var byte = bytes[position]
                position += 1
                if byte == UInt8(ascii: "\"") {
                    guard !content.isEmpty, content.allSatisfy(Scanner.isTokenByte) else { return nil }
                    return String(decoding: content, as: UTF8.self)
                }
                if byte == UInt8(ascii: "\\") {
                    guard position < bytes.count else { return nil }
                    byte = bytes[position]
                    position += 1
                }
                content.append(byte)
            }
            return nil
        }

        private static func isTokenByte(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }
}

/// The parameters of permessage-deflate in an offer or a response (RFC 7692 §7.1).
struct DeflateParameters: Equatable {
    static let name = "permessage-deflate"

    var serverKeepsContext = true
    var clientKeepsContext = true
    var serverWindowBits: Int?
    /// Whether the client's window is mentioned; in an offer, without a value it says that the server may choose one.
    var mentionsClientWindow = false
    var clientWindowBits: Int?

    init() {}

    /// Returns nil for parameters that are unknown, repeated or have an invalid value.
    ///
    /// - Parameter isOffer: whether `client_max_window_bits` may have no value.
    init?(_ parameters: [(name: String, value: String?)], isOffer: Bool) {
        guard Set(parameters.map(\.name)).count == parameters.count else { return nil }
        for (name, value) in parameters {
            switch (name, value) {
            case ("server_no_context_takeover", nil): serverKeepsContext = false
            case ("client_no_context_takeover", nil): clientKeepsContext = false
            case ("server_max_window_bits", let value?):
                guard let bits = DeflateParameters.windowBits(value) else { return nil }
                serverWindowBits = bits
            case ("client_max_window_bits", let value?):
                guard let bits = DeflateParameters.windowBits(value) else { return nil }
                clientWindowBits = bits
                mentionsClientWindow = true
            case ("client_max_window_bits", nil) where isOffer: mentionsClientWindow = true
            default: return nil
            }
        }
    }

    /// 8 to 15, without leading zeros.
    private static func windowBits(_ value: String) -> Int? {
        guard let bits = Int(value), 8...15 ~= bits, value == String(bits) else { return nil }
        return bits
    }

    /// The element of `Sec-WebSocket-Extensions`.
    var text: String {
        var text = DeflateParameters.name
        if !serverKeepsContext { text += "; server_no_context_takeover" }
        if !clientKeepsContext { text += "; client_no_context_takeover" }
        if let serverWindowBits { text += "; server_max_window_bits=\(serverWindowBits)" }
        if let clientWindowBits {
            text += "; client_max_window_bits=\(clientWindowBits)"
        } else if mentionsClientWindow {
            text += "; client_max_window_bits"
        }
        return text
    }
}
